// The whole test suite: format, lint, types and the build; `programs` and the real bed, whose clocks are real, and beside them the unit tests,
// which use what these leave idle; then the sandbox suites, which use all there is.
// `node scripts/test.mjs sandbox` runs one step. Ends with `N passed, N failed`.
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { bin, ensureDependencies, root } from './ensure.mjs';

ensureDependencies();
const results = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
const only = process.argv[2];
let passed = 0;
let failed = 0;
/** What failed, to be read at the end of a long output. */
const failures = [];

/**
 * The program, at a low priority, in a session of its own: Linux counts priorities within a session, and sessions by `autogroup`. A tenth of what
 * others ask for is left to it: at the lowest priority its tests would stand still for minutes.
 */
const lowPriority = (command, args) => [
  'sh',
  ['-c', 'echo 10 2>/dev/null >/proc/self/autogroup; exec nice -n 10 "$@"', 'sh', command, ...args],
];

/** What runs at low priority, which a signal to this process does not reach by itself. */
const sessions = new Set();
process.on('exit', () => rmSync(results, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    for (const pid of sessions) process.kill(-pid, 'SIGKILL');
    process.exit(1);
  });
}

/** Runs a program and gives its exit code. Beside another lane its output is kept, and printed when it has ended. */
async function run(command, args, { name, beside }) {
  const output = join(results, `${name}.log`);
  const file = beside ? openSync(output, 'w') : undefined;
  const child = spawn(...(beside ? lowPriority(command, args) : [command, args]), {
    cwd: root,
    stdio: beside ? ['ignore', file, file] : 'inherit',
    detached: beside,
  });
  if (beside) sessions.add(child.pid);
  const code = await new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      resolve(1);
    });
    child.on('exit', (status) => resolve(status ?? 1));
  });
  if (!beside) return code;
  sessions.delete(child.pid);
  closeSync(file);
  console.log(`\n== ${name}, which ran beside the others\n${readFileSync(output, 'utf8')}`);
  return code;
}

/** A step without tests of its own counts only when it fails. */
async function step(name, command, args) {
  const began = Date.now();
  console.log(`\n== ${name}`);
  const code = await run(command, args, { name, beside: false });
  console.log(`== ${name}: ${code === 0 ? 'ok' : `exit code ${code}`} in ${seconds(began)} s`);
  if (code !== 0) {
    failed += 1;
    failures.push(name);
  }
  return code === 0;
}

/** A vitest project; its tests are counted from the report, and a run that ends without one is a failure. */
async function suite(name, { command = bin('vitest'), args = [], beside = false } = {}) {
  const report = join(results, `${name}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const began = Date.now();
  console.log(`\n== ${name}`);
  const code = await run(command, [...args, 'run', '--project', name, ...reporters], { name, beside });
  const found = { passed: 0, failed: 0 };
  try {
    const { numPassedTests, numFailedTests, success, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    found.passed = numPassedTests;
    found.failed = numFailedTests;
    failures.push(...testResults.flatMap((file) => failuresOf(name, file)));
    if (!success && numFailedTests === 0) found.failed = 1;
  } catch {
    found.failed = 1;
  }
  if (code !== 0 && found.failed === 0) found.failed = 1;
  passed += found.passed;
  failed += found.failed;
  console.log(`== ${name}: ${found.passed} passed, ${found.failed} failed in ${seconds(began)} s`);
}

/** Each failed test of a file with the first line of what it says; the file itself, where it could not be run. */
function failuresOf(suiteName, { name, status, message, assertionResults }) {
  const file = `${suiteName}: ${relative(root, name)}`;
  const tests = assertionResults
    .filter((test) => test.status === 'failed')
    .map(({ fullName, failureMessages }) => `${file}: ${fullName}: ${firstLine(failureMessages[0])}`);
  return tests.length === 0 && status === 'failed' ? [`${file}: ${firstLine(message)}`] : tests;
}

function firstLine(text = '') {
  return text.split('\n', 1)[0].slice(0, 300);
}

function seconds(began) {
  return Math.round((Date.now() - began) / 1000);
}

function hasGo() {
  return spawnSync('go', ['version']).status === 0;
}

function wanted(name) {
  return !only || only === name;
}

if (wanted('check')) {
  await step('format and lint', bin('biome'), ['ci', '--error-on-warnings', '.']);
  await step('types', bin('tsc'), []);
  await step("types of the dashboard's page", bin('tsc'), ['-p', 'src/dashboard']);
}
const built = await step('build', process.execPath, [join(root, 'scripts/build.mjs')]);

async function withRealClocks() {
  if (wanted('programs')) {
    if (hasGo() || process.env.CI === 'true') await suite('programs');
    else console.log('\n== programs: not run, since Go is not installed');
  }
  if (built && wanted('cluster'))
    await suite('cluster', {
      command: process.execPath,
      args: [join(root, 'scripts/bed-run.mjs'), bin('vitest')],
    });
}

await Promise.all([withRealClocks(), wanted('unit') && suite('unit', { beside: only === undefined })]);
if (built && wanted('sandbox')) await suite('sandbox');

if (failures.length > 0) console.log(`\nfailed:\n${failures.map((line) => `  ${line}`).join('\n')}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
