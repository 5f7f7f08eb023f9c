import { allCrds } from '../../api/kinds/crd.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { type CommandResult, type DataFormat, formatObjects } from '../../terminal/output.ts';
import { type CliCommand, emit } from '../command.ts';
import { accountName, commaList, holdfastNamespaceOption, outputOption } from '../flags.ts';
import { deployment, service } from './deployment.ts';
import { networkPolicy, verbPolicy } from './policies.ts';
import { rbacObjects } from './rbac.ts';

interface InstallFlags {
  readonly crdsOnly?: boolean;
  readonly namespace: string;
  readonly image: string;
  readonly watchNamespaces: string[];
  readonly impersonation?: boolean;
  readonly defaultServiceAccount?: string;
  readonly output: DataFormat;
}

/** `holdfast install`: manifests on standard output, to read and then to apply. */
export const installCommand: CliCommand = {
  register(program, context) {
    program
      .command('install')
      .summary('print the manifests to install Holdfast')
      .description(
        'print the manifests to install Holdfast; apply them with: kubectl apply --server-side -f -',
      )
      .option('--crds-only', 'only the CustomResourceDefinitions')
      .addOption(holdfastNamespaceOption('--namespace'))
      .option('--image <reference>', 'container image', imageOf(context.version))
      .option(
        '--watch-namespaces <names>',
        'grant rights in these namespaces only (comma-separated)',
        commaList,
        [],
      )
      .option('--impersonation', 'grant the right to impersonate the service accounts that Sources name')
      .option(
        '--default-service-account <name>',
        'service account, in the namespace of the Source, for Sources without serviceAccountName; implies --impersonation',
        accountName,
      )
      .addOption(outputOption('yaml', ['yaml', 'json']))
      .action(({ output, ...options }: InstallFlags) => emit(runInstall(options, output), context));
  },
};

/** What `holdfast install` is asked for. */
interface InstallOptions {
  readonly crdsOnly?: boolean;
  /** Where Holdfast itself runs. */
  readonly namespace: string;
  readonly image: string;
  /** Only these namespaces; empty or absent: all. */
  readonly watchNamespaces?: readonly string[];
  /** Rights to write as the service accounts that Sources name. */
  readonly impersonation?: boolean;
  /** The account of Sources that name none; implies `impersonation`. */
  readonly defaultServiceAccount?: string;
}

const name = 'holdfast';

/** The image that `docker build` makes of a version; a cluster needs it in a registry of its own (`--image`). */
export function imageOf(version: string): string {
  return `holdfast:v${version}`;
}

/** What a cluster needs to run Holdfast, in the order to apply it. The same options give the same objects. */
export function installObjects(options: InstallOptions): KubernetesObject[] {
  if (options.crdsOnly) return allCrds();
  const { namespace, image } = options;
  const selector = { 'app.kubernetes.io/name': name };
  const labels = { ...selector, 'app.kubernetes.io/part-of': name };
  const watchNamespaces = [...new Set(options.watchNamespaces ?? [])].sort();
  const shared = { name, namespace, labels, selector };
  const { defaultServiceAccount } = options;
  const impersonation = options.impersonation === true || defaultServiceAccount !== undefined;
  const pod = { ...shared, image, watchNamespaces, defaultServiceAccount };
  return [
    ...allCrds(),
    namespaceObject(namespace, labels),
    ...rbacObjects({ name, namespace, labels, watchNamespaces, impersonation }),
    ...verbPolicy(shared),
    networkPolicy(shared),
    service(pod),
    deployment(pod),
  ];
}

function namespaceObject(namespace: string, labels: Record<string, string>): KubernetesObject {
  const enforce = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { ...labels, ...enforce } },
  };
}

/** Prints them. A name that no cluster takes is refused with exit code 2. */
export function runInstall(options: InstallOptions, format: DataFormat): CommandResult {
  const wrong = [options.namespace, ...(options.watchNamespaces ?? [])].find((text) => !isNamespace(text));
  if (wrong !== undefined) {
    const stderr = `error: ${JSON.stringify(wrong.slice(0, 80))} is not a valid namespace name\n`;
    return { stdout: '', stderr, exitCode: 2 };
  }
  if (!/^[\w.:/@-]+$/.test(options.image))
    return { stdout: '', stderr: 'error: --image is not a valid image reference\n', exitCode: 2 };
  return { stdout: formatObjects(installObjects(options), format), stderr: '', exitCode: 0 };
}

function isNamespace(text: string): boolean {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text);
}
