// @ts-check
// Runs test files over a source that is changed in memory only. A run that does not end by itself is ended by the processor time that it
// took: the tests are in a thread of their own, and the speed of the machine has no say.
import { relative, resolve } from 'node:path';
import { createVitest } from 'vitest/node';
import { root } from '../ensure.mjs';
import { sourceFile } from '../house/source-tree.mjs';
import { withoutLimits } from './limits.mjs';
import { markFile } from './reach.mjs';
import { scopes } from './scopes.mjs';

/**
 * `tests`: paths in the order in which they run; `change`: none in the run that looks what reaches what; `limitMs`: processor time.
 * @typedef {{ tests: string[], limitMs: number, change?: { file: string, start: number, end: number, replace: string } }} Order
 */

/**
 * @typedef {object} Outcome
 * @property {{ test: string, name: string } | undefined} failure the first failing test
 * @property {number} processorMs what it took
 * @property {Array<{ test: string, reached: string[], loaded: string[] }>} tests
 */

/** Exit code of a run that took more than its processor time. */
const ENDLESS = 124;

/** @type {Order['change']} */
let change;
/** @type {string[]} */
let order = [];
/** @type {Outcome['failure']} */
let failure;

/** @type {import('./scopes.mjs').Scope} */
const scope = scopes[/** @type {keyof typeof scopes} */ (process.argv[2])];
const marked = scope.folders.map((folder) => resolve(root, 'src', folder));
const source = {
  name: 'holdfast-mutation',
  enforce: /** @type {const} */ ('pre'),
  /**
   * @param {string} code
   * @param {string} id
   */
  transform(code, id) {
    if (id.endsWith('.test.ts')) return { code: withoutLimits(parsed(id, code), scope.timeoutMs), map: null };
    if (change && id === resolve(root, change.file))
      return { code: code.slice(0, change.start) + change.replace + code.slice(change.end), map: null };
    if (change || !marked.some((folder) => id.startsWith(folder)) || id.includes('.test')) return undefined;
    return { code: markFile(parsed(id, code)), map: null };
  },
};

/**
 * @param {string} id
 * @param {string} code
 */
function parsed(id, code) {
  return sourceFile(relative(resolve(root, 'src'), id), code);
}

class AsOrdered {
  /** @template T @param {T[]} files */
  shard(files) {
    return files;
  }

  /** @param {Array<{ moduleId: string }>} files */
  sort(files) {
    return files.sort((a, b) => rank(a) - rank(b));
  }
}

/** @param {{ moduleId: string }} file */
function rank({ moduleId }) {
  return order.indexOf(relative(root, moduleId));
}

const vitest = await createVitest(
  'test',
  {
    root,
    config: /** @type {any} */ (false),
    watch: false,
    pool: 'threads',
    isolate: false,
    maxWorkers: 1,
    bail: 1,
    // Nothing is written: neither snapshots nor what the last run knew.
    update: 'none',
    cache: false,
    testTimeout: scope.timeoutMs,
    hookTimeout: scope.timeoutMs,
    include: scope.tests.map((folder) => `${folder}/**/*.test.ts`),
    exclude: ['**/node_modules/**'],
    setupFiles: ['scripts/mutate/reach-setup.mjs', 'test/property-seed.ts'].map((file) =>
      resolve(root, file),
    ),
    sequence: { sequencer: /** @type {any} */ (AsOrdered) },
    reporters: [
      {
        onTestCaseResult(test) {
          if (test.result().state === 'failed')
            failure ??= { test: test.module.relativeModuleId, name: test.fullName };
        },
      },
    ],
  },
  { plugins: [source], server: { watch: null }, logLevel: 'silent' },
);

process.on('message', async (/** @type {Order} */ message) => {
  const before = process.cpuUsage();
  const watch = setInterval(() => {
    if (processorMs(before) > message.limitMs) process.exit(ENDLESS);
  }, 500);
  const outcome = await run(message);
  clearInterval(watch);
  process.send?.({ ...outcome, processorMs: processorMs(before) });
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

/** Processor time of all threads since then. @param {NodeJS.CpuUsage} before */
function processorMs(before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * @param {Order} wanted
 * @returns {Promise<Omit<Outcome, 'processorMs'>>}
 */
async function run(wanted) {
  const touched = [change, wanted.change].flatMap((one) => (one ? [resolve(root, one.file)] : []));
  change = wanted.change;
  order = wanted.tests;
  failure = undefined;
  for (const file of touched) vitest.invalidateFile(file);
  await vitest.globTestSpecifications();
  const files = order.flatMap((path) => vitest.getModuleSpecifications(resolve(root, path)));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(files);
  const broken = testModules.find((module) => module.errors().length > 0);
  if (broken) failure ??= { test: broken.relativeModuleId, name: String(broken.errors()[0]?.message) };
  if (unhandledErrors.length > 0) failure ??= { test: '', name: String(unhandledErrors[0]) };
  return {
    failure,
    tests: testModules.map((module) => {
      const metas = [...module.children.allTests()].map((test) => /** @type {any} */ (test.meta()));
      return {
        test: module.relativeModuleId,
        reached: [...new Set(metas.flatMap((meta) => meta.reached ?? []))],
        loaded: [...new Set(metas.flatMap((meta) => meta.loaded ?? []))],
      };
    }),
  };
}
