import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.js";

const { address, addressed, bothDays, keep, lines, marked, query, tried } = await load("schedule-try.js");

const trial = (schedule, zone = "", either = false) => ({ schedule, zone, either });

test("the question has what a job would say", () => {
  assert.equal(query(trial("*/5 * * * *"), 12), "schedule=*%2F5+*+*+*+*&n=12");
  assert.equal(query(trial("@daily", "Europe/Berlin", true), 1), "schedule=%40daily&n=1&timezone=Europe%2FBerlin&dayMatch=or");
  assert.equal(query(trial("@daily", "local"), 1), "schedule=%40daily&n=1&utc=no");
});

const trials = [trial("*/5 9-17 * * mon-fri", "Europe/Berlin"), trial("0 0 13 * 5", "", true), trial("@daily"), trial("", ""), trial("0 0 L * 5#2", "America/Argentina/Ushuaia", true), trial("50% / ü", "a/b")];
for (const each of trials) {
  test(`the address of ${each.schedule} leads back to it`, () => {
    assert.deepEqual(addressed(address(each)), each);
    assert.match(address(each), /^#sandbox[^\s]*$/);
  });
}

test("other addresses are none", () => {
  assert.equal(addressed("#jobs"), null);
  assert.equal(addressed(""), null);
  assert.deepEqual(addressed("#sandbox/%zz"), trial("%zz"));
  assert.deepEqual(addressed("#sandbox"), trial(""));
});

test("ten are kept, the newest first, each once", () => {
  let stored = [];
  for (let i = 0; i < 15; i++) {
    stored = keep(tried(stored), trial(`${i} * * * *`, "UTC"));
  }
  assert.deepEqual(tried(stored).map(({ schedule }) => Number.parseInt(schedule, 10)), [14, 13, 12, 11, 10, 9, 8, 7, 6, 5]);
  stored = keep(tried(stored), trial("9 * * * *", "UTC"));
  assert.equal(stored.length, 10);
  assert.deepEqual(stored[0], ["9 * * * *", "UTC", ""]);
  assert.equal(stored.filter(([schedule]) => schedule === "9 * * * *").length, 1);
  assert.deepEqual(tried(JSON.parse(JSON.stringify(keep([], trial("@daily", "", true))))), [trial("@daily", "", true)]);
});

test("what another program has stored is left out", () => {
  for (const odd of [null, 5, "x", {}, [null, 5, "x", {}, [], [1, 2], [""], ["", "UTC"], ["@daily"]]]) {
    assert.deepEqual(tried(odd), []);
  }
  assert.deepEqual(tried([["@daily", "UTC", "or", "more"], 7]), [trial("@daily", "UTC", true)]);
});

test("lines for a file", () => {
  assert.equal(lines(trial("30 2 * * *"), "yaml"), 'schedule: "30 2 * * *"\n');
  assert.equal(lines(trial("30 2 * * *", "UTC"), "hcl"), 'schedule = "30 2 * * *"\n');
  assert.equal(lines(trial("0 0 13 * 5", "Europe/Berlin", true), "yaml"), 'schedule: "0 0 13 * 5"\ntimezone: "Europe/Berlin"\ndayMatch: "or"\n');
  assert.equal(lines(trial("0 0 13 * 5", "local", true), "hcl"), 'schedule = "0 0 13 * 5"\nutc = false\nday_match = "or"\n');
});

test("whether both day fields are restricted", () => {
  for (const schedule of ["0 0 13 * 5", "0 0 13 * 5 2030", "0 0 0 13 * 5 2030", " 0  0 L * mon#1 "]) {
    assert.equal(bothDays(schedule), true, schedule);
  }
  for (const schedule of ["", "@daily", "0 0 13 * *", "0 0 * * 5", "0 0 ? * 5", "0 0 0 13 * * 2030", "0 0 13 *", "0 0 0 0 13 * 5 2030"]) {
    assert.equal(bothDays(schedule), false, schedule);
  }
});

test("the part that is wrong is marked", () => {
  const message = (part) => `the schedule "..." cannot be read: hour ${JSON.stringify(part)}: out of range`;
  assert.deepEqual(marked("0 61 * * *", { column: 3, message: message("61") }), ["0 ", "61", " * * *"]);
  assert.deepEqual(marked("0 1,61,2 * * *", { column: 5, message: message("61") }), ["0 1,", "61", ",2 * * *"]);
  assert.deepEqual(marked("ü 61 * * *", { column: 3, message: message("61") }), ["ü ", "61", " * * *"]);
  assert.deepEqual(marked("0 3 * *", { column: 1, message: "4 fields instead of 5, 6 or 7" }), ["0 3 * *", "", ""]);
  assert.deepEqual(marked("0 3 * *", { message: message("0") }), ["0 3 * *", "", ""]);
  assert.deepEqual(marked("", { column: 1, message: "empty" }), ["", "", ""]);
});
