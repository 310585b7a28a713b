import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.js";

const { links, members, remaining, role } = await load("members.js");

/** A peer that tells of the nodes with the letters in agreed. */
const peer = (name, status, agreed) => ({
  host: `${name}:1`, node_name: name, instance_id: `i${name}`, status, job_set_id: "v1:00", last_seen: null, last_error: null, mismatch_streak: 0,
  members: agreed === undefined ? undefined : ["a", "b", "c"].map((n) => ({ node_name: n, instance_id: `i${n}`, agreed: agreed.includes(n) })),
});
const cluster = (...peers) => ({ enabled: true, backend: "gossip", node_name: "a", instance_id: "ia", leader: "b", is_leader: false, elect_leader: true, quorate: true, distribution: "single-leader", peers });

const kinds = (c) => Object.fromEntries(links(members(c)).map(({ from, to, kind }) => [from.name + to.name, kind]));

const cases = {
  "all agree": [cluster(peer("b", "agreed", "abc"), peer("c", "agreed", "abc")), { ab: "both", ac: "both", bc: "both" }],
  "one does not have this node": [cluster(peer("b", "agreed", "abc"), peer("c", "agreed", "bc")), { ab: "both", ac: "one", bc: "both" }],
  "one has other jobs": [cluster(peer("b", "agreed", "ab"), peer("c", "drifted", "c")), { ab: "both", ac: "none", bc: "none" }],
  "it has this node all the same": [cluster(peer("b", "syncing", "ab")), { ba: "one" }],
  "one is away": [cluster(peer("b", "agreed", "ab"), peer("c", "unreachable")), { ab: "both", ac: "none", bc: "none" }],
  "two are away": [cluster(peer("b", "unreachable"), peer("c", "unreachable")), { ab: "none", ac: "none", bc: "unknown" }],
  "nobody was asked": [cluster(peer("b", "unknown")), { ab: "unknown" }],
  "an older peer tells nothing": [cluster(peer("b", "agreed")), { ab: "both" }],
  "an address leads back": [cluster({ ...peer("a", "self"), host: "me:1" }), {}],
};
for (const [name, [c, want]] of Object.entries(cases)) {
  test(name, () => assert.deepEqual(kinds(c), want));
}

test("the leader is marked once", () => {
  const marked = (c) => members(c).filter((m) => m.leader).map((m) => m.key);
  assert.deepEqual(marked(cluster(peer("b", "agreed", "ab"))), ["b:1"]);
  assert.deepEqual(marked({ ...cluster(peer("b", "agreed", "ab")), conflict: true }), []);
  assert.deepEqual(marked({ ...cluster(peer("b", "agreed", "ab")), conflict: true, is_leader: true, leader: "a" }), []);
  // Another process with the name of the leader is no second one.
  assert.deepEqual(marked({ ...cluster(peer("a", "conflict", "a")), leader: "a", is_leader: true }), ["self"]);
});

test("roles", () => {
  const c = cluster();
  assert.equal(role({ ...c, conflict: true, is_leader: true }), "standing down (conflict)");
  assert.equal(role({ ...c, distribution: "spread" }), "spread (per-job owner)");
  assert.equal(role({ ...c, distribution: "spread", quorate: false }), "spread (no quorum)");
  assert.equal(role({ ...c, is_leader: true }), "leader");
  assert.equal(role(c), "follower (leader: b)");
  assert.equal(role({ ...c, leader: null }), "follower");
  assert.equal(role({ ...c, leader: null, quorate: false }), "no quorum");
  assert.equal(role({ ...c, backend: "etcd", leader: null, quorate: false }), "no quorum (store unreachable)");
});

test("certificates want to be seen in time", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  assert.equal(remaining("2026-03-01T00:00:00+00:00", now).kind, "");
  assert.equal(remaining("2026-01-10T00:00:00+00:00", now).kind, "is-warning");
  assert.equal(remaining("2026-01-02T00:00:00+00:00", now).kind, "is-failed");
  assert.ok(remaining("2025-12-31T00:00:00+00:00", now).days < 0);
});
