import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.js";

const { heatBuckets, heatCells } = await load("history-lanes.js");

const hour = 3_600_000;
const to = Date.parse("2026-03-01T12:00:00Z");
const from = to - heatBuckets * hour;

/** A run that ended so many hours before the end of the map. */
const run = (outcome, hoursAgo) => ({ outcome, finished_at: new Date(to - hoursAgo * hour).toISOString() });

/** The cells with runs in them: place, runs, failures, kind. */
const filled = (runs) => heatCells(runs, from, to).cells.flatMap(({ n, failed, kind }, i) => (n > 0 ? [[i, n, failed, kind]] : []));

const cases = {
  "nothing has run": [[], []],
  "one in the last hour": [[run("success", 0.5)], [[23, 1, 0, "ok"]]],
  "one just now, or by a clock that is ahead": [[run("success", 0), run("success", -0.1)], [[23, 2, 0, "ok"]]],
  "one at the very beginning": [[run("success", 24)], [[0, 1, 0, "ok"]]],
  "one before it": [[run("failure", 24.01)], []],
  "the worst gives the colour, in whatever order": [
    [run("failure", 5.7), run("success", 5.5), run("cancelled", 5.2), run("cancelled", 2.8), run("success", 2.5), run("success", 1.5), run("lost", 1.4), run("cancelled", 1.3)],
    [[18, 3, 1, "failed"], [21, 2, 0, "cancelled"], [22, 3, 0, "lost"]],
  ],
};
for (const [name, [runs, want]] of Object.entries(cases)) {
  test(name, () => assert.deepEqual(filled(runs), want));
}

test("what is no longer kept is not taken for nothing", () => {
  const many = (n, oldest) => Array.from({ length: n }, (_, i) => run("success", oldest - (i * oldest) / n));
  assert.equal(heatCells(many(49, 3), from, to).unknown, 0);
  assert.equal(heatCells(many(50, 3), from, to).unknown, 21);
  assert.equal(heatCells(many(50, 30), from, to).unknown, 0);
});
