// @ts-check
// Breaks the rollout core on purpose, one change at a time, and tells which test notices. No file is touched: the changed text is handed to vitest.
//   npm run mutate                          the table in test/mutations/*.json, and a sample of automatic changes
//   npm run mutate -- --sample 200 --seed 7 another sample (0: the table alone; all: every automatic change)
//   npm run mutate -- --scope all           changes in all of src but the command line and the schemas, with the unit and sandbox suites (needs npm run build)
//   npm run mutate -- --only allocator      those whose id, rule or file holds this text
//   npm run mutate -- --suites phases,verdict   on test files whose path holds one of these alone
//   npm run mutate -- --verbose             also says what each suite costs
//   npm run mutate -- --list                says what would be tried
//   npm run mutate -- --write docs/reliability.md    also writes the table into that page
// Exits with 1 when a change survived. test/mutations/equivalent.json: automatic changes that change nothing, by id, each with its why.
import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureDependencies, root } from './ensure.mjs';
import { linkTree, readTree, sourceFile } from './house/source-tree.mjs';
import { mutationsOf } from './mutate/operators.mjs';
import { functionAround } from './mutate/reach.mjs';
import { scopes } from './mutate/scopes.mjs';

/** @typedef {import('./house/source-tree.mjs').SourceFile} SourceFile */
/** @typedef {import('./mutate/operators.mjs').Mutation} Mutation */
/** @typedef {import('./mutate/worker.mjs').Outcome} Outcome */
/** @typedef {import('./mutate/worker.mjs').Order} Order */
/** @typedef {{ processorMs: number, reached: Set<string>, loaded: Set<string>, catches: number }} Suite */
/** @typedef {{ mutation: Mutation, caughtBy: string | undefined, seconds: number }} Result */

const TABLES = join(root, 'test/mutations');
const SAMPLE_DEFAULT = 60;
/** A change that makes a test run without end is noticed, too: by processor time. */
const LEAST_LIMIT_MS = 30_000;
const LIMIT_FACTOR = 3;
const LOOK_LIMIT_MS = 600_000;
/** As worker.mjs ends then. */
const ENDLESS = 124;
const LARGEST_HEAP_MIB = 1500;

class UsageError extends Error {}

/** What tests leave behind. */
const temporary = mkdtempSync(join(tmpdir(), 'holdfast-mutate-'));

const { values: options } = parseArgs({
  options: {
    sample: { type: 'string', default: String(SAMPLE_DEFAULT) },
    seed: { type: 'string', default: '1' },
    scope: { type: 'string', default: 'core' },
    only: { type: 'string' },
    suites: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    write: { type: 'string' },
    parallel: { type: 'string', default: '2' },
    tables: { type: 'string', default: TABLES },
  },
});

if (!Object.hasOwn(scopes, options.scope)) {
  console.error(`--scope ${options.scope}: is none of ${Object.keys(scopes).join(', ')}`);
  process.exit(2);
}
/** @type {import('./mutate/scopes.mjs').Scope} */
const scope = scopes[/** @type {keyof typeof scopes} */ (options.scope)];

/** The mutations that people thought of; each must fit its file exactly once. @returns {Mutation[]} */
function tableMutations() {
  const tables = resolve(options.tables);
  const files = existsSync(tables) ? readdirSync(tables).filter((name) => name.endsWith('.json')) : [];
  return files
    .filter((name) => name !== 'equivalent.json')
    .flatMap((name) => JSON.parse(readFileSync(join(tables, name), 'utf8')))
    .map(placed)
    .filter(isWanted);
}

/** @param {Mutation} mutation */
function isWanted({ id, rule, file }) {
  return options.only === undefined || `${rule} ${id} ${file}`.includes(options.only);
}

/**
 * @param {Pick<Mutation, 'id' | 'rule' | 'file' | 'find' | 'replace'>} entry
 * @returns {Mutation}
 */
function placed(entry) {
  const text = readFileSync(join(root, entry.file), 'utf8');
  const start = text.indexOf(entry.find);
  if (start < 0) throw new UsageError(`mutation ${entry.id}: ${entry.file} does not hold its text`);
  if (text.includes(entry.find, start + 1))
    throw new UsageError(`mutation ${entry.id}: ${entry.file} holds its text more than once`);
  const line = text.slice(0, start).split('\n').length;
  return { ...entry, start, end: start + entry.find.length, line, isValue: false };
}

/** @returns {Record<string, string>} */
function equivalents() {
  const path = join(resolve(options.tables), 'equivalent.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

/**
 * Automatic mutations of the files of the core that the product uses; those of one kind take turns with those of the others.
 * @param {readonly SourceFile[]} files
 * @returns {Mutation[]}
 */
function automaticMutations(files) {
  const items = [...linkTree(files).values()];
  const isUsed = (/** @type {string} */ path) =>
    items.some((item) => item.path === path && [...item.usedBy].some((user) => !user.startsWith(`${path}#`)));
  const known = equivalents();
  const all = files
    .filter(
      ({ path }) =>
        scope.folders.some((folder) => path.startsWith(folder)) &&
        (path === 'rollout/step.ts' || options.scope !== 'core' || isUsed(path)),
    )
    .flatMap(mutationsOf)
    .filter((mutation) => !(mutation.id in known) && isWanted(mutation));
  const random = randomFrom(Number(options.seed));
  const shuffled = all
    .map((mutation) => ({ mutation, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ mutation }) => mutation);
  return options.sample === 'all' ? shuffled : inTurns(shuffled).slice(0, Number(options.sample));
}

/** @param {readonly Mutation[]} all */
function inTurns(all) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  return all
    .map((mutation) => {
      const operator = mutation.id.slice(0, mutation.id.indexOf(':'));
      const turn = counts.get(operator) ?? 0;
      counts.set(operator, turn + 1);
      return { mutation, turn };
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ mutation }) => mutation);
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). @param {number} seed */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Test files of the scope, relative to the checkout. */
function suitePaths() {
  return scope.tests
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.test.ts'))
        .map((name) => relative(root, join(root, folder, name)))
        .filter((path) => options.suites.split(',').some((part) => path.includes(part))),
    );
}

/** A process that runs tests; a new one is started when it had to be ended. */
class Runner {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;

  /**
   * @param {Order} order
   * @returns {Promise<Outcome>}
   */
  async run(order) {
    const child = await this.#ready();
    return new Promise((settle) => {
      const end = (/** @type {Outcome} */ outcome) => {
        child.removeAllListeners();
        settle(outcome);
      };
      child.once('message', (outcome) => end(/** @type {Outcome} */ (outcome)));
      child.once('exit', (code, signal) => {
        this.#child = undefined;
        const name = code === ENDLESS ? 'it did not come to an end' : `the tests crashed (${signal ?? code})`;
        end({ failure: { test: '', name }, tests: [], processorMs: order.limitMs });
      });
      child.send(order);
    });
  }

  /** @returns {Promise<import('node:child_process').ChildProcess>} */
  async #ready() {
    if (this.#child) return this.#child;
    const child = fork(join(root, 'scripts/mutate/worker.mjs'), [options.scope], {
      cwd: root,
      env: { ...process.env, TMPDIR: temporary },
      execArgv: [`--max-old-space-size=${LARGEST_HEAP_MIB}`],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child = child;
    await new Promise((started, failed) => {
      child.once('message', started);
      child.once('exit', (code) => failed(new Error(`vitest does not start (exit code ${code})`)));
    });
    child.removeAllListeners();
    return child;
  }

  stop() {
    this.#child?.removeAllListeners();
    this.#child?.kill();
    this.#child = undefined;
  }
}

/**
 * Runs everything as it is: it must be green, and tells which suite reaches which function.
 * @param {readonly Runner[]} runners
 * @returns {Promise<Map<string, Suite>>}
 */
async function look(runners) {
  const paths = suitePaths();
  /** @type {Map<string, Suite>} */
  const suites = new Map();
  await inParallel(runners, paths, async (runner, path) => {
    const { failure, tests, processorMs } = await runner.run({ tests: [path], limitMs: LOOK_LIMIT_MS });
    if (options.verbose) console.log(`${(processorMs / 1000).toFixed(1).padStart(7)} s  ${path}`);
    if (failure) {
      if (options.scope === 'core') throw new UsageError(`${path} fails without any change: ${failure.name}`);
      console.log(`left out, since it fails without any change: ${path}: ${failure.name}`);
      return;
    }
    for (const { reached, loaded } of tests)
      suites.set(path, { processorMs, reached: new Set(reached), loaded: new Set(loaded), catches: 0 });
  });
  return suites;
}

/**
 * @template T
 * @param {readonly Runner[]} runners
 * @param {readonly T[]} work
 * @param {(runner: Runner, one: T) => Promise<void>} act
 */
async function inParallel(runners, work, act) {
  const waiting = [...work];
  await Promise.all(
    runners.map(async (runner) => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await act(runner, one);
    }),
  );
}

/**
 * The suites that could notice a mutation, those first that caught much in little time. What runs while modules are loaded concerns all.
 * @param {Mutation} mutation
 * @param {Map<string, Suite>} suites
 */
function suitesFor(mutation, suites) {
  const place = placeOf(mutation);
  const entries = [...suites];
  const concernsAll = place.endsWith(':-1') || entries.some(([, { loaded }]) => loaded.has(place));
  let spentMs = 0;
  return entries
    .filter(([, { reached }]) => concernsAll || reached.has(mutation.isValue ? mutation.id : place))
    .sort(([, a], [, b]) => worth(b) - worth(a))
    .map(([name, { processorMs }]) => ({ name, processorMs }))
    .filter(({ processorMs }) => {
      spentMs += processorMs;
      return spentMs <= scope.budgetMs;
    });
}

/** The function that a mutation is in, as reach.mjs names it. @param {Mutation} mutation */
function placeOf({ file, start }) {
  const path = file.replace(/^src\//, '');
  if (!scope.folders.some((folder) => path.startsWith(folder))) return `${path}:-1`;
  return `${path}:${functionAround(sourceFile(path, readFileSync(join(root, file), 'utf8')), start)}`;
}

/** @param {Suite} suite */
function worth({ catches, processorMs }) {
  return (catches + 0.5) / (processorMs + 50);
}

/**
 * @param {Runner} runner
 * @param {Mutation} mutation
 * @param {Map<string, Suite>} suites
 * @returns {Promise<Result>}
 */
async function attempt(runner, mutation, suites) {
  const tests = suitesFor(mutation, suites);
  const limitMs = LEAST_LIMIT_MS + LIMIT_FACTOR * tests.reduce((sum, one) => sum + one.processorMs, 0);
  const { file, start, end, replace } = mutation;
  const order = { tests: tests.map(({ name }) => name), limitMs, change: { file, start, end, replace } };
  // What no suite reaches survives without a run.
  let { failure, processorMs } =
    tests.length > 0 ? await runner.run(order) : { failure: undefined, processorMs: 0 };
  // A test that an earlier change left behind says nothing of this one: it is asked again where nothing was left.
  if (failure?.test && !order.tests.includes(failure.test)) {
    runner.stop();
    ({ failure, processorMs } = await runner.run(order));
  }
  const suite = failure && suites.get(failure.test);
  if (suite) suite.catches += 1;
  const caughtBy = failure && [failure.test, failure.name].filter(Boolean).join(' > ');
  return { mutation, caughtBy, seconds: processorMs / 1000 };
}

/** @param {Result} result */
function tell({ mutation, caughtBy, seconds }) {
  const time = `${seconds.toFixed(1)} s`.padStart(7);
  console.log(`${caughtBy ? 'caught  ' : 'SURVIVED'} ${time}  ${nameOf(mutation)}`);
  if (caughtBy) console.log(`                    by ${caughtBy}`);
  else console.log(`                    ${mutation.file}:${mutation.line}\n${difference(mutation)}`);
}

/** @param {Mutation} mutation */
function nameOf({ id, rule }) {
  return rule ? `${rule} ${id}` : id;
}

/** @param {Mutation} mutation */
function difference({ find, replace }) {
  const lines = (/** @type {string} */ mark, /** @type {string} */ text) =>
    text.split('\n').map((line) => `                    ${mark} ${line}`);
  return [...lines('-', find), ...lines('+', replace)].join('\n');
}

/** @param {readonly Result[]} results */
function summary(results) {
  const caught = results.filter(({ caughtBy }) => caughtBy).length;
  return `${results.length} tried, ${caught} caught, ${results.length - caught} survived`;
}

const [BEGIN, END] = ['<!-- mutations: npm run mutate -- --write -->', '<!-- end of mutations -->'];

/**
 * Puts the results between the marks of a page, or at its end.
 * @param {string} page
 * @param {readonly Result[]} results
 */
function write(page, results) {
  const path = resolve(page);
  const before = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const rows = results.map(({ mutation, caughtBy }) => {
    const cells = [
      mutation.rule,
      mutation.id,
      `${mutation.file}:${mutation.line}`,
      caughtBy ?? '**survived**',
    ];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  });
  const table = ['| rule | change | where | caught by |', '|---|---|---|---|', ...rows.sort()].join('\n');
  const section = `${BEGIN}\n${summary(results)} (\`npm run mutate\`, seed ${options.seed}).\n\n${table}\n${END}`;
  const [start, end] = [before.indexOf(BEGIN), before.indexOf(END)];
  const whole = start >= 0 && end > start;
  writeFileSync(
    path,
    whole ? before.slice(0, start) + section + before.slice(end + END.length) : `${before}\n${section}\n`,
  );
}

/** @returns {Promise<number>} the exit code */
async function main() {
  ensureDependencies();
  const mutations = [...tableMutations(), ...automaticMutations(readTree(join(root, 'src')))];
  if (options.list) {
    for (const mutation of mutations)
      console.log(`${nameOf(mutation)}  ${mutation.file}:${mutation.line}\n${difference(mutation)}`);
    console.log(
      `${mutations.length} changes, and ${Object.keys(equivalents()).length} known to change nothing`,
    );
    return 0;
  }
  const runners = Array.from({ length: Number(options.parallel) }, () => new Runner());
  try {
    const suites = await look(runners);
    const looked = [...suites.values()].reduce((sum, { processorMs }) => sum + processorMs / 1000, 0);
    console.log(
      `${suites.size} suites are green without a change (${Math.round(looked)} s of processor time)`,
    );
    /** @type {Result[]} */
    const results = [];
    await inParallel(runners, mutations, async (runner, mutation) => {
      const result = await attempt(runner, mutation, suites);
      results.push(result);
      tell(result);
    });
    const survivors = results.filter(({ caughtBy }) => !caughtBy);
    if (survivors.length > 0) console.log('\nsurvivors:');
    for (const survivor of survivors) tell(survivor);
    const spent = results.reduce((sum, { seconds }) => sum + seconds, 0);
    console.log(`\n${summary(results)} (${Math.round(spent)} s of processor time, seed ${options.seed})`);
    if (options.write) write(options.write, results);
    return survivors.length > 0 ? 1 : 0;
  } finally {
    for (const runner of runners) runner.stop();
    rmSync(temporary, { recursive: true, force: true });
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
