// Part of each test file in a run that looks which functions it reaches (see reach.mjs).
import { afterEach, beforeAll } from 'vitest';

const reached = new Set();
const told = new Set();
let loaded = [];
globalThis.holdfastReached = reached;
globalThis.holdfastCompare = (id, own, other) => {
  const value = own();
  if (!reached.has(id) && differs(value, other)) reached.add(id);
  return value;
};

function differs(value, other) {
  try {
    return !Object.is(value, other());
  } catch {
    return true;
  }
}

beforeAll(() => {
  loaded = [...reached];
});

afterEach(({ task }) => {
  task.meta.loaded = loaded;
  task.meta.reached = [...reached].filter((one) => !told.has(one));
  for (const one of reached) told.add(one);
});
