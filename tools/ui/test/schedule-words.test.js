import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.js";

const { describe } = await load("schedule-words.js");
const { rare, remarks } = await load("schedule-remarks.js");

const words = {
  "* * * * *": "Every minute, UTC.",
  "*/5 * * * *": "Every 5th minute, UTC.",
  "15 2 * * *": "At 02:15, UTC.",
  "0 6,18 * * *": "At 06:00, 18:00, UTC.",
  "0 * * * *": "Every hour, UTC.",
  "20 * * * *": "Every hour at 20 past, UTC.",
  "30 6 * * mon-fri": "At 06:30 on Monday to Friday, UTC.",
  "0 0 1 * *": "At 00:00 on day 1 of the month, UTC.",
  "0 0 L * *": "At 00:00 on the last day of the month, UTC.",
  "0 0 * * 5#2": "At 00:00 on the 2nd Friday of the month, UTC.",
  "0 0 * * 1L": "At 00:00 on the last Monday of the month, UTC.",
  "0 9 24 12 * 2026": "At 09:00 on day 24 of December in the year 2026, UTC.",
  "*/10 * * * * * *": "Every 10th second, UTC.",
  "30 0 12 * * * *": "At 12:00:30, UTC.",
  "@daily": "At 00:00, UTC.",
  "@reboot": "Once, when the agent starts.",
  "@every 90s": "Every 90s, counted from 1970 so that all nodes agree.",
  "nonsense": "",
};
for (const [schedule, want] of Object.entries(words)) {
  test(schedule, () => assert.equal(describe(schedule, "UTC"), want));
}

test("either day is enough, or both must match", () => {
  assert.equal(describe("0 0 13 * 5", "UTC", true), "At 00:00 on Friday or on day 13 of the month, UTC.");
  assert.equal(describe("0 0 13 * 5", "UTC", false), "At 00:00 on Friday restricted to day 13 of the month, UTC.");
});

const surprises = {
  "0 0 30 2 *": /never fires/,
  "0 0 31 4 *": /never fires/,
  "0 0 29 2 *": /leap years/,
  "5 4 31 * *": /left out/,
  "5 4 1 * mon": /dayMatch/,
  "0 * * * *": /full hour/,
};
for (const [schedule, want] of Object.entries(surprises)) {
  test(`${schedule} surprises`, () => assert.match(remarks(schedule, "UTC").join("\n"), want));
}

test("clocks change in zones that have them", () => {
  assert.match(remarks("30 2 * * *", "Europe/Berlin").join(), /Where clocks change/);
  assert.deepEqual(remarks("30 2 * * *", "UTC"), []);
  assert.deepEqual(remarks("@reboot", "UTC"), []);
});

test("what is left out", () => {
  assert.match(rare("0 0 29 2 *"), /leap years/);
  assert.match(rare("0 0 30 * *"), /without a day 30/);
  for (const schedule of ["0 0 28 * *", "0 0 31 12 *", "@daily", "nonsense", ""]) {
    assert.equal(rare(schedule), "");
  }
});
