import { basename, relative } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DemoOptions, NextCommand, ObjectName } from '../../sandbox/demo/options.ts';
import { InputError } from '../api/problems.ts';
import { workloadProviders } from '../providers/routing/table.ts';
import type { CliCommand } from './command.ts';

interface DemoFlags {
  readonly kubeconfig?: string;
  readonly namespace: string;
  readonly provider?: string;
  readonly gateway?: ObjectName;
  readonly image: string;
  readonly trafficUrl?: string;
  readonly trafficHost?: string;
  readonly besideOthers?: boolean;
  readonly keep?: boolean;
  readonly output: 'text' | 'json';
}

/** `holdfast demo`: the story of a good release, a bad one and a git revert, in a sandbox or on a cluster. */
export const demoCommand: CliCommand = {
  register(program, context) {
    declare(program.command('demo')).action(async (flags: DemoFlags) => {
      context.setExitCode(await demo(optionsOf(flags, context.version), flags.output));
    });
  },
};

function declare(command: Command): Command {
  return command
    .description(
      'watch a good release, a bad one and a git revert: in a sandbox inside this process, or on a cluster',
    )
    .option('--kubeconfig <file>', 'play on this cluster; everything made is taken away again')
    .option('--namespace <name>', 'namespace to create', namespaceName, 'holdfast-demo')
    .addOption(
      new Option(
        '--provider <name>',
        'routing provider (default: gatewayapi:v1; on a cluster without --gateway: kubernetes)',
      ).choices(workloadProviders()),
    )
    .option('--gateway <namespace/name>', 'Gateway of the cluster that takes the HTTPRoute', objectName)
    .option('--image <reference>', "image of the pods; it needs busybox's sh and httpd", 'busybox:1.37')
    .option(
      '--traffic-url <url>',
      'where requests reach the demo through the gateway; they are sampled',
      httpUrl,
    )
    .option('--traffic-host <name>', 'Host header of those requests, and host name of the route')
    .option('--beside-others', 'play although another Holdfast or Flagger runs on the cluster')
    .option('--keep', 'leave namespace and CRDs on the cluster at the end')
    .addOption(
      new Option('-o, --output <format>', 'a timeline for people, or one JSON object a line')
        .choices(['text', 'json'])
        .default('text'),
    );
}

/** Until then a second signal is the same one, sent to a process group and forwarded by a parent. */
const sameSignalMs = 1_000;
const interruptedCode = 130;

async function demo(options: DemoOptions, output: DemoFlags['output']): Promise<number> {
  // Nobody else needs the sandbox: it is loaded for the demo alone.
  const [{ runDemo }, { createJsonOutput, createTextOutput }] = await Promise.all([
    import('../../sandbox/demo/demo.ts'),
    import('../../sandbox/demo/output.ts'),
  ]);
  const stopping = new AbortController();
  const release = abortOnSignals(stopping);
  const show =
    output === 'json'
      ? createJsonOutput(process.stdout)
      : createTextOutput(process.stdout, process.env, nextCommands(options));
  try {
    const { ok } = await runDemo(options, { ...show, signal: stopping.signal });
    return ok ? 0 : 1;
  } catch (error) {
    if (error !== stopping.signal.reason) throw error;
    show.close();
    process.stderr.write('holdfast: interrupted; everything is cleaned up\n');
    return interruptedCode;
  } finally {
    show.close();
    release();
  }
}

/** The first signal ends the play in good order, one that comes later ends the process. A closed pipe counts as a signal. */
function abortOnSignals(stopping: AbortController): () => void {
  let firstMs: number | undefined;
  const onSignal = () => {
    if (firstMs !== undefined && performance.now() - firstMs > sameSignalMs) process.exit(interruptedCode);
    firstMs ??= performance.now();
    stopping.abort(new Error('interrupted'));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  process.stdout.on('error', onSignal);
  return () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
  };
}

function optionsOf({ output: _, ...flags }: DemoFlags, version: string): DemoOptions {
  const {
    kubeconfig,
    provider,
    gateway,
    trafficUrl,
    trafficHost,
    besideOthers = false,
    keep = false,
  } = flags;
  const forClusters = {
    '--gateway': gateway,
    '--traffic-url': trafficUrl,
    '--traffic-host': trafficHost,
    '--beside-others': besideOthers,
    '--keep': keep,
  };
  const [lonely] = Object.entries(forClusters).filter(([, value]) => value);
  if (lonely && !kubeconfig)
    throw new InputError(`${lonely[0]} needs --kubeconfig: the sandbox brings its own`);
  return { ...flags, version, kubeconfig, provider, gateway, trafficUrl, trafficHost, besideOthers, keep };
}

function nextCommands({ kubeconfig }: DemoOptions): NextCommand[] {
  const program = programName();
  const elsewhere = kubeconfig
    ? { line: `${program} demo -o json`, purpose: 'the same in a sandbox, for programs' }
    : { line: `${program} demo --kubeconfig FILE`, purpose: 'the same on your cluster' };
  return [
    elsewhere,
    { line: `${program} validate PATH`, purpose: 'look through your own files' },
    { line: `${program} install`, purpose: 'manifests that run it on a cluster' },
  ];
}

/** As the user has started it. */
function programName(): string {
  const path = process.argv[1] ?? '';
  return basename(path) === 'main.js' ? `node ${relative(process.cwd(), path)}` : 'holdfast';
}

function namespaceName(text: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError('must be a namespace name: lower-case letters, digits and dashes.');
}

function objectName(text: string): ObjectName {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace && name && rest.length === 0) return { namespace, name };
  throw new InvalidArgumentError('must be NAMESPACE/NAME.');
}

function httpUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('must be an http:// or https:// address.');
}
