import { InvalidArgumentError } from 'commander';
import { allCrds } from '../../api/kinds/crd.ts';
import { dnsLabel, type KubernetesObject } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { workloadProviders } from '../../providers/routing/table.ts';
import { type CommandResult, type DataFormat, formatObjects, printed } from '../../terminal/output.ts';
import { type CliCommand, emit } from '../command.ts';
import { controllerCommand } from '../controller-flags.ts';
import {
  accountName,
  commaList,
  crossNamespaceRefsOption,
  holdfastNamespaceOption,
  ingressClassOption,
  notEmpty,
  outputOption,
  secretName,
  trustedNamespacesOption,
} from '../flags.ts';
import { deployment, service } from './deployment.ts';
import {
  bindingPolicy,
  type Destination,
  destinationOf,
  disruptionBudget,
  networkPolicy,
  secretPolicy,
  sourcePolicy,
  verbPolicy,
} from './policies.ts';
import { type ProgramFlags, programFlag } from './program-flags.ts';
import { rbacObjects } from './rbac.ts';

interface InstallFlags extends Omit<InstallOptions, 'flags'> {
  readonly flag?: ProgramFlags;
  readonly output: DataFormat;
}

/** `holdfast install`: manifests on standard output, to read and then to apply. */
export const installCommand: CliCommand = {
  register(command, context) {
    command
      .description(
        'print the manifests to install Holdfast; apply them with: kubectl apply --server-side -f -',
      )
      .option('--crds-only', 'only the CustomResourceDefinitions')
      .addOption(holdfastNamespaceOption('--namespace'))
      .option('--image <reference>', 'container image', imageOf(context.version))
      .option(
        '--watch-namespaces <names>',
        'grant rights in these namespaces only (comma-separated)',
        notEmpty(commaList),
        [],
      )
      .option('--impersonation', 'grant the right to impersonate the service accounts that Sources name')
      .option(
        '--default-service-account <name>',
        'service account, in the namespace of the Source, for Sources without serviceAccountName; implies --impersonation',
        accountName,
      )
      .addOption(trustedNamespacesOption())
      .option(
        '--providers <names>',
        'grant rights for these routing providers only (comma-separated; default: all)',
        notEmpty(providerList),
        [],
      )
      .addOption(crossNamespaceRefsOption())
      .addOption(ingressClassOption())
      .option(
        '--replicas <number>',
        'number of pods, one of which is the leader; more than one adds a PodDisruptionBudget',
        replicas,
        1,
      )
      .option('--dashboard', 'serve the dashboard, to those who may read Canaries', false)
      .option(
        '--dashboard-proxy-secret <name>',
        "Secret in Holdfast's namespace with the key secret, which a login proxy in front of the dashboard sends; implies --dashboard",
        secretName,
      )
      .option(
        '--egress <destinations>',
        'allow connections only to these destinations, as CIDR:PORT or NAMESPACE:PORT, and to the name servers in kube-system (comma-separated)',
        notEmpty(destinations),
        [],
      )
      .option(
        '--flag <name=value>',
        'pass this flag of holdfast run to the program, for example metrics-server=http://prometheus.monitoring:9090 (repeatable)',
        (text, before?: ProgramFlags) => ({ ...before, ...programFlag(controllerCommand(), text) }),
      )
      .addOption(outputOption('yaml', ['yaml', 'json']))
      .action(({ output, flag: flags, ...options }: InstallFlags) =>
        emit(runInstall({ ...options, ...(flags ? { flags } : {}) }, output), context),
      );
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
  /** Namespaces whose Sources are written with Holdfast's own rights. */
  readonly trustedSourceNamespaces?: readonly string[];
  /** Routing providers that Canaries use; empty or absent: all. */
  readonly providers?: readonly string[];
  readonly crossNamespaceRefs?: boolean;
  /** Of every HTTPProxy. */
  readonly ingressClass?: string;
  /** Default: 1. */
  readonly replicas?: number;
  /** Whether the dashboard is served; default: it is not. */
  readonly dashboard?: boolean;
  /** Secret of the login proxy in front of it; implies `dashboard`. */
  readonly dashboardProxySecret?: string;
  /** Where it may connect to; empty or absent: everywhere. */
  readonly egress?: readonly Destination[];
  /** More flags of `holdfast run`. */
  readonly flags?: ProgramFlags;
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
  const shared = { name, namespace, labels, selector };
  const { defaultServiceAccount, crossNamespaceRefs = false, replicas: copies = 1, egress = [] } = options;
  const { ingressClass, flags = {}, dashboardProxySecret } = options;
  const dashboard = options.dashboard === true || dashboardProxySecret !== undefined;
  const rights = {
    watchNamespaces: sorted(options.watchNamespaces),
    trustedSourceNamespaces: sorted(options.trustedSourceNamespaces),
    providers: sorted(options.providers),
    impersonation: options.impersonation === true,
    defaultServiceAccount,
    dashboard,
  };
  const pod = {
    ...shared,
    ...rights,
    image,
    crossNamespaceRefs,
    ingressClass,
    replicas: copies,
    flags,
    dashboardProxySecret,
  };
  return [
    ...allCrds(),
    namespaceObject(namespace, labels),
    ...rbacObjects({ ...shared, ...rights }),
    ...verbPolicy(shared),
    ...sourcePolicy({ ...shared, ...rights }),
    ...secretPolicy(shared),
    ...bindingPolicy({ ...shared, ...rights }),
    networkPolicy(shared, egress, dashboard),
    service(pod),
    deployment(pod),
    ...(copies > 1 ? [disruptionBudget(shared)] : []),
  ];
}

function sorted(names: readonly string[] = []): string[] {
  return [...new Set(names)].sort();
}

function namespaceObject(namespace: string, labels: Record<string, string>): KubernetesObject {
  const enforce = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { ...labels, ...enforce } },
  };
}

/** Prints them. Throws InputError for a name that no cluster takes. */
export function runInstall(options: InstallOptions, format: DataFormat): CommandResult {
  const { namespace, watchNamespaces = [], trustedSourceNamespaces = [] } = options;
  const named = [namespace, ...watchNamespaces, ...trustedSourceNamespaces];
  const wrong = named.find((text) => !dnsLabel.test(text));
  if (wrong !== undefined)
    throw new InputError(`${JSON.stringify(wrong.slice(0, 80))} is not a valid namespace name`);
  if (!/^[\w.:/@-]+$/.test(options.image)) throw new InputError('--image is not a valid image reference');
  return printed(formatObjects(installObjects(options), format));
}

function providerList(text: string): string[] {
  const names = commaList(text);
  const unknown = names.find((one) => !workloadProviders().includes(one));
  if (unknown === undefined) return names;
  throw new InvalidArgumentError(`must be of ${workloadProviders().join(', ')}.`);
}

function replicas(text: string): number {
  if (/^[1-9]$/.test(text)) return Number(text);
  throw new InvalidArgumentError('must be a number from 1 to 9.');
}

function destinations(text: string): Destination[] {
  return commaList(text).map((one) => {
    const destination = destinationOf(one);
    if (destination) return destination;
    throw new InvalidArgumentError(`${JSON.stringify(one.slice(0, 80))} is not CIDR:PORT or NAMESPACE:PORT.`);
  });
}
