import { basename, relative } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DemoOptions, NextCommand, ObjectName } from '../../sandbox/demo/options.ts';
import { InputError } from '../api/problems.ts';
import { abortOnSignals, type CliCommand } from './command.ts';
import { exitCodes } from './failure.ts';
import { httpUrl, kubeconfigOption, namespaceName } from './flags.ts';

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

/** `holdfast demo`: a good release, a bad one and a git revert, in a sandbox or on a cluster. */
export const demoCommand: CliCommand = {
  register(command, context) {
    declare(command).action(async (flags: DemoFlags) => {
      context.setExitCode(await demo(optionsOf(flags, context.version), flags.output));
    });
  },
};

function declare(command: Command): Command {
  return command
    .addOption(kubeconfigOption('run on this cluster; everything the demo creates is deleted at the end'))
    .option('--namespace <name>', 'namespace to create', namespaceName, 'holdfast-demo')
    .addOption(
      new Option(
        '--provider <name>',
        'routing provider (default: gatewayapi:v1; on a cluster without --gateway: kubernetes)',
      ).choices(['kubernetes', 'gatewayapi:v1', 'contour']),
    )
    .option('--gateway <namespace/name>', 'Gateway of the cluster to attach the HTTPRoute to', objectName)
    .option(
      '--image <reference>',
      'container image of the pods; needs sh and httpd of busybox',
      'busybox:1.37',
    )
    .option('--traffic-url <url>', 'URL of the demo behind the gateway, to sample requests', httpUrl)
    .option('--traffic-host <name>', 'Host header of these requests, and hostname of the route')
    .option('--beside-others', 'run even if another Holdfast or Flagger runs on the cluster')
    .option('--keep', 'keep the namespace and the CRDs at the end')
    .addOption(
      new Option('-o, --output <format>', 'output format: a timeline, or one JSON object per line')
        .choices(['text', 'json'])
        .default('text'),
    );
}

async function demo(options: DemoOptions, output: DemoFlags['output']): Promise<number> {
  const { runDemo, createJsonOutput, createTextOutput } = await loadSandbox();
  const { signal, release } = abortOnSignals();
  const show =
    output === 'json'
      ? createJsonOutput(process.stdout)
      : createTextOutput(process.stdout, process.env, nextCommands(options));
  try {
    const { ok } = await runDemo(options, { ...show, signal });
    return ok ? 0 : 1;
  } catch (error) {
    if (error !== signal.reason) throw error;
    show.close();
    process.stderr.write('interrupted; everything is cleaned up\n');
    return exitCodes.interrupted;
  } finally {
    show.close();
    release();
  }
}

/** Nobody else needs the sandbox: it is loaded for the demo alone, and the image is without it. Throws InputError there. */
async function loadSandbox(): Promise<typeof import('../../sandbox/demo/demo.ts')> {
  try {
    return await import('../../sandbox/demo/demo.ts');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new InputError(
      'the sandbox that the demo runs in is not part of the image: install the npm package or the executable of this release on your machine, and run holdfast demo there',
    );
  }
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
  const [clusterOnly] = Object.entries(forClusters).filter(([, value]) => value);
  if (clusterOnly && !kubeconfig)
    throw new InputError(`${clusterOnly[0]} needs --kubeconfig: the sandbox has its own`);
  return { ...flags, version, kubeconfig, provider, gateway, trafficUrl, trafficHost, besideOthers, keep };
}

function nextCommands({ kubeconfig }: DemoOptions): NextCommand[] {
  // As the user has started it.
  const path = process.argv[1] ?? '';
  const program = basename(path) === 'main.js' ? `node ${relative(process.cwd(), path)}` : 'holdfast';
  const elsewhere = kubeconfig
    ? { line: `${program} demo -o json`, purpose: 'the same in a sandbox, as JSON' }
    : { line: `${program} demo --kubeconfig FILE`, purpose: 'the same on your cluster' };
  return [
    elsewhere,
    { line: `${program} validate PATH`, purpose: 'check your own manifests' },
    { line: `${program} install`, purpose: 'print the manifests to run it on a cluster' },
  ];
}

function objectName(text: string): ObjectName {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace && name && rest.length === 0) return { namespace, name };
  throw new InvalidArgumentError('must be NAMESPACE/NAME.');
}
