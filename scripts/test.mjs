// The whole test suite, in this order: format, lint and types; build; unit; programs; sandbox; cluster on the real bed. Ends with `N passed, N failed`.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { bin, ensureDependencies, root, run } from './ensure.mjs';

ensureDependencies();
// It needs one of them.
const { fetchNode, imageNode, thisPlatform } = await import('./node.mjs');
const results = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
const only = process.argv[2];
let passed = 0;
let failed = 0;
/** What failed, to be read at the end of a long output. */
const failures = [];

/** A step without tests of its own counts only when it fails. Steps run side by side: what one says is printed at its end. */
async function step(name, command, args) {
  const began = Date.now();
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(chunk));
  const code = await new Promise((done) => {
    child.on('error', (error) => done(error.message));
    child.on('close', (status, signal) => done(status ?? signal));
  });
  console.log(`\n== ${name}\n${Buffer.concat(said)}`);
  console.log(`== ${name}: ${code === 0 ? 'ok' : `exit code ${code}`} in ${seconds(began)} s`);
  if (code !== 0) {
    failed += 1;
    failures.push(name);
  }
  return code === 0;
}

/**
 * A vitest project; its tests are counted from the report, and a run that ends without one is a failure.
 * @param {string} name
 * @param {{ node?: string, around?: string[] }} [how] `around`: the script that runs the command
 */
function suite(name, { node = process.execPath, around = [] } = {}) {
  const report = join(results, `${name}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const args = [...around, bin('vitest'), 'run', '--project', name, ...reporters];
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  const began = Date.now();
  console.log(`\n== ${name}`);
  // What one process has compiled the next ones need not: the suites start the program by the hundred. Node 20 does not know it.
  const NODE_COMPILE_CACHE = join(results, 'compiled');
  const env = { ...process.env, PATH, NODE_COMPILE_CACHE, HOLDFAST_TEST_PROGRAM: join(root, 'dist') };
  const code = run(node, args, { env });
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

/** Each failed test of a file with what it says; the file itself, where it could not be run. */
function failuresOf(suiteName, { name, status, message, assertionResults }) {
  const file = `${suiteName}: ${relative(root, name)}`;
  const tests = assertionResults
    .filter((test) => test.status === 'failed')
    .map(({ fullName, failureMessages }) => `${file}: ${fullName}: ${saidBy(failureMessages[0])}`);
  return tests.length === 0 && status === 'failed' ? [`${file}: ${saidBy(message)}`] : tests;
}

/** The message of an error without its stack: of one that cannot be seen again, the state that it saw last is all there is. */
function saidBy(text = '') {
  const message = text.split('\n    at ', 1)[0];
  return message.length > 6_000 ? `${message.slice(0, 3_000)}\n[...]\n${message.slice(-3_000)}` : message;
}

function seconds(began) {
  return Math.round((Date.now() - began) / 1000);
}

function hasGo() {
  return spawnSync('go', ['version']).status === 0;
}

/** The program of the image's Node; the one that runs this, where that is of the same major version or no package is known, and where fetching failed. */
async function nodeOfImage() {
  const [own, wantedMajor] = [process.versions.node, imageNode.version].map(
    (version) => version.split('.')[0],
  );
  if (own === wantedMajor || !imageNode.platforms[thisPlatform]) return process.execPath;
  try {
    return join(await fetchNode(imageNode), 'bin/node');
  } catch (error) {
    failed += 1;
    failures.push(`Node ${imageNode.version} of the image: ${error.message}`);
    return process.execPath;
  }
}

function wanted(name) {
  return !only || only === name;
}

/** esbuild, kubectl, helm and others that are written in Go and run for moments may keep more garbage. */
process.env.GOGC ??= '400';
/** Several checkers read the same types again: one takes half as much of the processor's time, and is no slower on two cores. */
const oneChecker = ['--checkers', '1'];
const checks = [
  ['types', bin('tsc'), oneChecker],
  ['format and lint', bin('biome'), ['ci', '--error-on-warnings', '.']],
  ["types of the dashboard's page", bin('tsc'), ['-p', 'src/dashboard', ...oneChecker]],
];
// All suites run this one; without it their tests would be of an older program.
const building = step('build', process.execPath, [join(root, 'scripts/build.mjs')]);
if (wanted('check')) await Promise.all(checks.map((check) => step(...check)));
const built = await building;
// On what users have; `programs` on the oldest Node that does, where this machine has it.
const node = ['unit', 'sandbox', 'cluster'].some(wanted) ? await nodeOfImage() : process.execPath;
if (built && wanted('unit')) suite('unit', { node });
if (built && wanted('programs')) {
  if (hasGo() || process.env.CI === 'true') suite('programs');
  else console.log('\n== programs: not run, since Go is not installed');
}
if (built && wanted('sandbox')) suite('sandbox', { node });
if (built && wanted('cluster')) suite('cluster', { node, around: [join(root, 'scripts/bed-run.mjs')] });

rmSync(results, { recursive: true, force: true });
if (failures.length > 0) console.log(`\nfailed:\n${failures.map((line) => `  ${line}`).join('\n')}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
