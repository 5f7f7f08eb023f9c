#!/usr/bin/env node
// Runs a command inside the test bed's own network namespace, after building what the bed needs:
//   node scripts/bed-run.mjs npx vitest run --project cluster
// Where the machine cannot do that it says why; with CI=true that is a failure, otherwise the exit code is 0.
// Everything the command started ends with it: it runs in a process namespace of its own too.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { BedUnavailable, buildBed, lateNames, lateTarget } from './bed-build.mjs';

const NAMESPACES = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
// The watcher ends everything when this script is gone, however it went: its end of file descriptor 3 then closes.
const INSIDE = `
ip link set lo up && ip route add local 10.244.0.0/16 dev lo || exit 70
(read -r _ <&3; kill -9 -1) 2>/dev/null &
exec 3<&-
"$@"
exit $?
`;

/** The way this machine lets us make namespaces: as root, or as a user who becomes root in one of their own. */
function unshareFlags() {
  if (process.platform !== 'linux') throw new BedUnavailable('network namespaces need Linux');
  const ways = [NAMESPACES, ['--user', '--map-root-user', ...NAMESPACES]];
  const failures = [];
  for (const flags of ways) {
    const tried = spawnSync('unshare', [...flags, 'true'], { encoding: 'utf8' });
    if (tried.status === 0) return flags;
    failures.push((tried.error?.message ?? tried.stderr).trim());
  }
  throw new BedUnavailable(`no right to make a network namespace (${failures.join('; ')})`);
}

function requireIp() {
  if (spawnSync('ip', ['-V']).status === 0) return;
  if (process.getuid?.() === 0) {
    spawnSync('apt-get', ['update', '-q']);
    if (spawnSync('apt-get', ['install', '-qy', '--no-install-recommends', 'iproute2']).status === 0) return;
  }
  throw new BedUnavailable('the program `ip` is missing; install iproute2');
}

function runInside(flags, command, tools) {
  const child = spawn('unshare', [...flags, 'sh', '-c', INSIDE, 'bed', ...command], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, HOLDFAST_BED_TOOLS: JSON.stringify(tools) },
  });
  let asked = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A first Ctrl-C has reached the command through the terminal; it gets ten seconds to end well.
      if (asked || signal !== 'SIGINT') child.kill('SIGKILL');
      else setTimeout(() => child.kill('SIGKILL'), 10_000).unref();
      asked = true;
    });
  }
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

/**
 * Builds what single suites need beside everything else, where the network is, when cluster suites run: all of them, or those with the
 * program's name in their own. They wait for its folder.
 */
function buildBeside(command) {
  const named = command.filter((word) => word.includes('test/'));
  const isWanted = (name) =>
    named.length === 0 ? command.includes('cluster') : named.some((word) => word.includes(name));
  const missing = lateNames.filter((name) => isWanted(name) && !existsSync(lateTarget(name)));
  if (missing.length === 0) return;
  const script = fileURLToPath(new URL('bed-build.mjs', import.meta.url));
  const child = spawn('nice', ['-n', '15', process.execPath, script, ...missing], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  child.on('error', () => undefined);
  process.on('exit', () => child.kill());
}

async function main(command) {
  if (command.length === 0) {
    process.stderr.write('usage: node scripts/bed-run.mjs COMMAND [ARGUMENT...]\n');
    return 2;
  }
  try {
    const flags = unshareFlags();
    requireIp();
    const tools = await buildBed();
    buildBeside(command);
    return await runInside(flags, command, tools);
  } catch (error) {
    if (!(error instanceof BedUnavailable)) throw error;
    process.stderr.write(`\nThe cluster suites did not run: ${error.message}\n`);
    if (process.env.CI === 'true') return 1;
    process.stderr.write('(With CI=true this is a failure.)\n');
    return 0;
  }
}

process.exitCode = await main(process.argv.slice(2));
