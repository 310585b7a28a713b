import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.js";

const { Places } = await load("places.js");

test("what moved is known by its time, the rest has not", () => {
  const places = new Places(400);
  places.arranged(["a", "b"], ["a", "new", "b"], 1000);
  assert.equal(places.movedAt("a"), -Infinity);
  assert.equal(places.movedAt("new"), 1000);
  assert.equal(places.movedAt("b"), 1000);
});

test("an order that stays as it is does not make forget what moved just before", () => {
  const places = new Places(400);
  places.arranged(["a", "b"], ["b", "a"], 1000);
  places.arranged(["b", "a"], ["b", "a"], 1200);
  assert.equal(places.movedAt("a"), 1000);
  places.arranged(["b", "a", "c"], ["b", "c", "a"], 1300);
  assert.equal(places.movedAt("a"), 1300);
  assert.equal(places.movedAt("b"), 1000);
});

test("what has gone or moved long ago is forgotten", () => {
  const places = new Places(400);
  places.arranged(["a", "b"], ["b"], 1000);
  assert.equal(places.movedAt("a"), -Infinity);
  places.arranged(["b"], ["b"], 1400);
  assert.equal(places.movedAt("b"), -Infinity);
});
