// The whole test suite: format, lint and types; unit; build; then the cluster suites on the real bed and, beside them, programs and sandbox.
// Ends with `N passed, N failed`.
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

/** A vitest project; its tests are counted from the report, and a run that ends without one is a failure. */
async function suite(name, command, args, { isBeside = false } = {}) {
  const report = join(results, `${name}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const began = Date.now();
  console.log(`\n== ${name}${isBeside ? ', beside; what it prints follows when it has ended' : ''}`);
  const all = [...args, 'run', '--project', name, ...reporters];
  const code = isBeside ? await runBeside(name, command, all) : await runShown(command, all, 'inherit');
  const counts = { passed: 0, failed: 0 };
  try {
    const { numPassedTests, numFailedTests, success, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    counts.passed = numPassedTests;
    counts.failed = numFailedTests;
    failures.push(...testResults.flatMap((file) => failuresOf(name, file)));
    if (!success && numFailedTests === 0) counts.failed = 1;
  } catch {
    counts.failed = 1;
  }
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  passed += counts.passed;
  failed += counts.failed;
  console.log(`== ${name}: ${counts.passed} passed, ${counts.failed} failed in ${seconds(began)} s`);
}

/** The exit code of a program whose output goes to `output`. */
function runShown(command, args, output) {
  const child = spawn(command, args, { cwd: root, stdio: ['inherit', output, output] });
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      resolve(1);
    });
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** Keeps the output until the program has ended, so that two suites do not mix theirs. */
async function runBeside(name, command, args) {
  const path = join(results, `${name}.log`);
  const log = openSync(path, 'w');
  const code = await runShown(command, args, log);
  closeSync(log);
  console.log(`\n== ${name}\n${readFileSync(path, 'utf8')}`);
  return code;
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
}
if (wanted('unit')) await suite('unit', bin('vitest'), []);
const built = step('build', process.execPath, [join(root, 'scripts/build.mjs')]);
const withCluster = built && wanted('cluster');

/** Without a cluster these have the machine to themselves. */
async function programsAndSandbox() {
  const isBeside = withCluster;
  if (wanted('programs')) {
    if (hasGo() || process.env.CI === 'true') await suite('programs', bin('vitest'), [], { isBeside });
    else console.log('\n== programs: not run, since Go is not installed');
  }
  if (built && wanted('sandbox')) await suite('sandbox', bin('vitest'), [], { isBeside });
}

// The test bed waits for a third of its time: pods come up, intervals pass. The others use the processors meanwhile.
await Promise.all([
  withCluster
    ? suite('cluster', process.execPath, [join(root, 'scripts/bed-run.mjs'), bin('vitest')])
    : undefined,
  programsAndSandbox(),
]);

rmSync(results, { recursive: true, force: true });
if (failures.length > 0) console.log(`\nfailed:\n${failures.map((line) => `  ${line}`).join('\n')}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
