import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.js";

const { pieces, plain } = await load("ansi.js");

const cases = [
  ["plain text", "order 7 imported", [["order 7 imported", ""]]],
  ["a colour and its end", "\x1b[31mred\x1b[0m rest", [["red", "fg-1"], [" rest", ""]]],
  ["several at once", "\x1b[1;33mloud\x1b[22mless", [["loud", "fg-3 bold"], ["less", "fg-3"]]],
  ["bright ones and backgrounds", "\x1b[92;41mx\x1b[39my\x1b[49mz", [["x", "fg-10 bg-1"], ["y", "bg-1"], ["z", ""]]],
  ["of 256", "\x1b[38;5;196mx\x1b[38;5;4my\x1b[38;5;244mz", [["x", "fg-9"], ["y", "fg-4"], ["z", "fg-8"]]],
  ["of 16 million", "\x1b[38;2;0;200;0mx\x1b[48;2;9;9;9my", [["x", "fg-2"], ["y", "fg-2 bg-0"]]],
  ["with colons", "\x1b[38:5:4mx", [["x", "fg-4"]]],
  ["an extended colour of no kind", "\x1b[38mx\x1b[38;9mz", [["x", ""], ["z", "strike"]]],
  ["movements and titles", "a\x1b[2Jb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d", [["a", ""], ["b", ""], ["c", ""], ["d", ""]]],
  ["what was overwritten", "10 %\r50 %\r100 %\r", [["100 %", ""]]],
  ["controls", "a\x00b\x07c\x7f", [["abc", ""]]],
  ["a sequence that does not end", "a\x1b[31", [["a", ""], ["31", ""]]],
  ["markup", "<script>alert(1)</script>", [["<script>alert(1)</script>", ""]]],
  ["nothing", "", []],
];

for (const [name, line, want] of cases) {
  test(name, () => {
    assert.deepEqual(pieces(line).map(({ text, classes }) => [text, classes]), want);
    assert.equal(plain(line), want.map(([text]) => text).join(""));
  });
}

test("lines of a megabyte take no time that grows faster", () => {
  for (const part of ["\x1b[", "\x1b]", "\x1b[31m", "\r", "\x1b"]) {
    const text = plain(part.repeat(200_000));
    assert.ok(text.length <= 400_000, part);
  }
});
