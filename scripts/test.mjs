// The whole test suite, in this order: format, lint and types; unit; build; sandbox; cluster on the real bed with programs beside it, since both wait
// half of their time. Ends with `N passed, N failed`.
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { bin, ensureDependencies, root, run } from './ensure.mjs';

ensureDependencies();
const results = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
const only = process.argv[2];
let passed = 0;
let failed = 0;
/** What failed, to be read at the end of a long output. */
const failures = [];

/** A step without tests of its own counts only when it fails. */
function step(name, command, args) {
  const began = Date.now();
  console.log(`\n== ${name}`);
  const code = run(command, args);
  console.log(`== ${name}: ${code === 0 ? 'ok' : `exit code ${code}`} in ${seconds(began)} s`);
  if (code !== 0) {
    failed += 1;
    failures.push(name);
  }
  return code === 0;
}

/**
 * A vitest project; its tests are counted from the report, and a run that ends without one is a failure. `isBeside`: what runs meanwhile comes
 * first, and the output is printed at the end.
 */
async function suite(name, [command, ...args], isBeside = false) {
  const report = join(results, `${name}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const began = Date.now();
  if (!isBeside) console.log(`\n== ${name}`);
  const vitest = [command, ...args, 'run', '--project', name, ...reporters];
  const code = isBeside
    ? await runBeside(name, vitest)
    : await end(spawn(command, vitest.slice(1), inherited));
  const before = { passed, failed };
  try {
    const { numPassedTests, numFailedTests, success, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    passed += numPassedTests;
    failed += numFailedTests;
    failures.push(...testResults.flatMap((file) => failuresOf(name, file)));
    if (!success && numFailedTests === 0) failed += 1;
  } catch {
    failed += 1;
  }
  if (code !== 0 && failed === before.failed) failed += 1;
  console.log(
    `== ${name}: ${passed - before.passed} passed, ${failed - before.failed} failed in ${seconds(began)} s`,
  );
}

const inherited = { cwd: root, stdio: 'inherit' };

async function runBeside(name, command) {
  const path = join(results, `${name}.log`);
  const output = openSync(path, 'w');
  const code = await end(
    spawn('nice', ['-n', '10', ...command], { cwd: root, stdio: ['ignore', output, output] }),
  );
  closeSync(output);
  console.log(`\n== ${name}\n${readFileSync(path, 'utf8')}`);
  return code;
}

/** The exit code of a process. */
function end(child) {
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(error.message);
      resolve(1);
    });
    child.on('exit', (code) => resolve(code ?? 1));
  });
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
  step('format and lint', bin('biome'), ['ci', '--error-on-warnings', '.']);
  step('types', bin('tsc'), []);
  step("types of the dashboard's page", bin('tsc'), ['-p', 'src/dashboard']);
}
if (wanted('unit')) await suite('unit', [bin('vitest')]);
const built = step('build', process.execPath, [join(root, 'scripts/build.mjs')]);
if (built && wanted('sandbox')) await suite('sandbox', [bin('vitest')]);
const isClusterWanted = built && wanted('cluster');
await Promise.all([
  isClusterWanted && suite('cluster', [process.execPath, join(root, 'scripts/bed-run.mjs'), bin('vitest')]),
  wanted('programs') && programs(isClusterWanted),
]);

async function programs(isBeside) {
  if (hasGo() || process.env.CI === 'true') await suite('programs', [bin('vitest')], isBeside);
  else console.log('\n== programs: not run, since Go is not installed');
}

rmSync(results, { recursive: true, force: true });
if (failures.length > 0) console.log(`\nfailed:\n${failures.map((line) => `  ${line}`).join('\n')}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
