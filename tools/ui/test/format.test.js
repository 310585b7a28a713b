import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.js";

const format = await load("format.js");

const table = (name, f, cases) => {
  for (const [input, want] of cases) {
    test(`${name} of ${input}`, () => assert.equal(f(input), want));
  }
};

table("duration", format.duration, [
  [null, "–"], [0, "0 ms"], [0.0426, "43 ms"], [1, "1.0 s"], [9.96, "10.0 s"], [59.9, "59 s"], [60, "1 min"], [200, "3 min 20 s"],
  [3600, "1 h"], [90 * 60, "1 h 30 min"], [52 * 3600, "2 d 4 h"],
]);
table("age", format.age, [[-500, "now"], [999, "now"], [12_000, "12 s ago"], [119_000, "119 s ago"], [120_000, "2 min ago"], [3 * 86_400_000, "3 d ago"]]);
table("countdown", format.countdown, [[-1, "due"], [0, "due"], [1, "in 1 s"], [61_000, "in 1 min 1 s"]]);
table("utc", format.utc, [[null, "–"], ["2026-01-31T06:00:00.25+01:00", "2026-01-31 05:00:00 UTC"]]);
table("exit", format.exit, [[null, "no exit code"], [0, "exit 0"], [127, "exit 127"], [-15, "SIGTERM"], [-44, "signal 44"], [-100, "timed out"]]);
table("percent", format.percent, [[null, "–"], [0, "0 %"], [0.9996, "100.0 %"], [1, "100 %"], [0.5, "50.0 %"]]);
table("bytes", format.bytes, [[0, "0 B"], [1023, "1023 B"], [1024, "1.0 KiB"], [5 * 1024 ** 3, "5.0 GiB"]]);
table("short id", format.shortID, [[null, "–"], ["v1:0123456789abcdef", "0123456789ab"]]);
