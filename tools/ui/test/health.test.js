import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.js";

const { failing, healthOf, likelyCause } = await load("health.js");
const { jobLanes, memberStretches, roleStretches } = await load("history-lanes.js");

const at = (second) => new Date(Date.UTC(2026, 0, 1, 6, 0, second)).toISOString();
const ms = (second) => Date.parse(at(second));
const run = (outcome, second, more) => ({ outcome, exit_code: outcome === "failure" ? 3 : 0, started_at: at(second - 1), finished_at: at(second), duration: 1, fail_reason: outcome === "failure" ? "exit" : null, run_id: `r${second}`, ...more });
const job = (name, last, more) => ({ name, enabled: true, running: false, last_run: last, ...more });

test("health", () => {
  const pause = { since: at(0), until: at(9), note: null, by: null };
  for (const [j, want] of [
    [job("a", null), "pending"], [job("a", run("success", 5)), "ok"], [job("a", run("failure", 5)), "failed"],
    [job("a", run("cancelled", 5)), "cancelled"], [job("a", run("lost", 5)), "lost"],
    [job("a", run("failure", 5), { running: true }), "running"], [job("a", run("failure", 5), { enabled: false }), "disabled"],
    [job("a", run("success", 5), { paused: pause }), "paused"], [job("a", run("failure", 5), { paused: pause }), "failed"],
  ]) {
    assert.equal(healthOf(j), want, JSON.stringify(j));
  }
  assert.ok(failing(job("a", run("failure", 5), { running: true })));
  assert.ok(!failing(job("a", run("failure", 5), { enabled: false })));
});

test("what fails alike is likely of one cause", () => {
  const other = run("failure", 9, { exit_code: 1 });
  const cause = likelyCause([job("a", run("failure", 5)), job("b", other), job("c", run("failure", 25))]);
  assert.deepEqual([cause.jobs.map((j) => j.name), cause.exit, cause.within], [["a", "c"], 3, 20]);
  assert.equal(likelyCause([job("a", run("failure", 5)), job("b", other)]), null);
  assert.equal(likelyCause([]), null);
});

test("roles and members become stretches", () => {
  const role = (second, more) => ({ kind: "role", at: at(second), node: "a", role: { enabled: true, leader: "b", is_leader: false, quorate: true, conflict: false, ...more } });
  const list = roleStretches([role(0, {}), role(1, {}), role(2, { quorate: false, leader: null }), role(3, { is_leader: true })]);
  assert.deepEqual(list.map((s) => [s.words, s.from, s.to]), [["leader: b", ms(0), ms(2)], ["no quorum", ms(2), ms(3)], ["leader", ms(3), null]]);
  const member = (second, status) => ({ kind: "member", at: at(second), node: "a", member: { host: "b:1", node_name: second > 1 ? "b" : null, status, last_error: null } });
  const lanes = memberStretches([member(1, "unknown"), member(2, "agreed")]);
  assert.deepEqual([...lanes.keys()], ["b:1"]);
  assert.equal(lanes.get("b:1").name, "b");
});

test("a run is drawn once, whoever told of it", () => {
  const last = run("success", 30);
  const entry = (j, nextAt = null) => ({ job: j, nextAt });
  const events = [
    { kind: "run-finished", at: at(20), node: "n", job: "a", run: run("failure", 20) },
    { kind: "run-finished", at: at(30), node: "n", job: "a", run: last },
    { kind: "missed", at: at(25), node: "n", job: "b", missed: { firing: at(25), at: at(26), code: "late", reason: "too late" } },
    { kind: "run-finished", at: at(30), node: "n", job: "gone", run: last },
  ];
  const lanes = jobLanes([entry(job("a", last), ms(40)), entry(job("b", null)), entry(job("c", null)), entry(job("d", null, { running: true }))], events, new Map([["d", ms(28)]]), ms(10), ms(45));
  assert.deepEqual(lanes.map((lane) => lane.name), ["d", "a", "b"]);
  assert.deepEqual(lanes[1].stretches.map((s) => s.kind), ["is-failed", "is-ok"]);
  assert.deepEqual(lanes[1].marks.map((m) => m.kind), ["next"]);
  assert.deepEqual(lanes[0].stretches, [{ from: ms(28), to: null, kind: "is-running", words: "running" }]);
  assert.deepEqual(lanes[2].marks.map((m) => m.words), ["missed: too late"]);
});
