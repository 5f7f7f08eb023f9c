/** The engine's order of actions, and which of them are left undone when another one failed: its own. */
export { inLanes, reliesOn } from '../../src/engine/perform/lanes.ts';
