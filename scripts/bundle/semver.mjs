// What is used of semver: its own entry loads all of it.

export { default as Range } from '../../node_modules/semver/classes/range.js';
export { default as compareBuild } from '../../node_modules/semver/functions/compare-build.js';
export { default as parse } from '../../node_modules/semver/functions/parse.js';
export { default as valid } from '../../node_modules/semver/functions/valid.js';
