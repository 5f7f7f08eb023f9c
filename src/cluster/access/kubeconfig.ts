import { readFile } from 'node:fs/promises';
import path from 'node:path';
// Only this file of the client: the package's entry and even its config.js load every generated class (about 80 MB and 0.6 s).
import {
  type Cluster,
  type Context,
  newClusters,
  newContexts,
  newUsers,
  type User,
} from '@kubernetes/client-node/dist/config_types.js';
import { parse } from 'yaml';
import { listNames } from '../../api/limits.ts';
import { systemWords } from '../../api/system-words.ts';
import { localError } from '../errors.ts';

/** A user entry with the fields that the client's own reader leaves out. File paths are absolute. */
interface KubeconfigUser extends User {
  readonly tokenFile?: string;
  readonly impersonateGroups: readonly string[];
}

/** A cluster entry with what it holds for exec plug-ins, which the client's own reader leaves out. */
interface KubeconfigCluster extends Cluster {
  readonly execConfig?: unknown;
}

/** Several kubeconfig files as one. */
interface Kubeconfig {
  readonly clusters: readonly KubeconfigCluster[];
  readonly users: readonly KubeconfigUser[];
  readonly contexts: readonly Context[];
  readonly currentContext: string;
}

/** The context in use, with what it points to. */
export interface SelectedContext {
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  readonly namespace: string;
}

const maximumBytes = 1024 * 1024;

/** Reads and merges kubeconfig files; as in kubectl the first file that names something wins. Throws `configuration` errors. */
export async function readKubeconfig(files: readonly string[]): Promise<Kubeconfig> {
  const parts = await Promise.all(files.map(readOne));
  return {
    clusters: firstByName(parts.flatMap((part) => part.clusters)),
    users: firstByName(parts.flatMap((part) => part.users)),
    contexts: firstByName(parts.flatMap((part) => part.contexts)),
    currentContext: parts.map((part) => part.currentContext).find(Boolean) ?? '',
  };
}

/** The named context, or the current one. Throws a `configuration` error that says which name is missing. */
export function selectContext(config: Kubeconfig, wanted: string | undefined): SelectedContext {
  const name = wanted ?? config.currentContext;
  if (!name)
    throw localError('configuration', 'kubeconfig: current-context is not set; choose one with --context');
  const context = named(config.contexts, name, 'context');
  const user = context.user ? named(config.users, context.user, 'user') : { name: '', impersonateGroups: [] };
  return {
    cluster: named(config.clusters, context.cluster, 'cluster'),
    user,
    namespace: context.namespace ?? 'default',
  };
}

async function readOne(file: string): Promise<Kubeconfig> {
  const document = await readDocument(file);
  const directory = path.dirname(file);
  try {
    return {
      clusters: newClusters(document.clusters).map((cluster, index) =>
        completeCluster(cluster, document.clusters, index, directory),
      ),
      users: newUsers(document.users).map((user, index) =>
        completeUser(user, document.users, index, directory),
      ),
      contexts: newContexts(document.contexts),
      currentContext: typeof document['current-context'] === 'string' ? document['current-context'] : '',
    };
  } catch (error) {
    throw localError(
      'configuration',
      `kubeconfig ${file}: ${error instanceof Error ? error.message : 'unreadable entry'}`,
    );
  }
}

async function readDocument(file: string): Promise<Record<string, unknown>> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    throw localError(
      'configuration',
      `kubeconfig ${file}: ${systemWords((error as NodeJS.ErrnoException).code) ?? 'cannot be read'}`,
    );
  }
  if (content.length > maximumBytes)
    throw localError('configuration', `kubeconfig ${file}: larger than 1 MiB`);
  const document = parseYaml(file, content);
  if (typeof document !== 'object' || document === null) {
    throw localError('configuration', `kubeconfig ${file}: not a mapping`);
  }
  return document as Record<string, unknown>;
}

function parseYaml(file: string, content: string): unknown {
  try {
    return parse(content, { maxAliasCount: 10, logLevel: 'error' });
  } catch (error) {
    // Only the position: the parser's message quotes the line, and that line may be a token.
    const line = (error as { linePos?: Array<{ line: number }> }).linePos?.[0]?.line;
    throw localError(
      'configuration',
      `kubeconfig ${file}${line === undefined ? '' : `:${line}`}: invalid YAML`,
    );
  }
}

function completeCluster(
  cluster: Cluster,
  rawClusters: unknown,
  index: number,
  directory: string,
): KubeconfigCluster {
  const raw = (rawClusters as Array<{ cluster?: { extensions?: unknown } }>)[index]?.cluster ?? {};
  const extensions = (Array.isArray(raw.extensions) ? raw.extensions : []) as Array<Record<string, unknown>>;
  const execConfig = extensions.find((one) => one?.name === 'client.authentication.k8s.io/exec')?.extension;
  return { ...absolute(cluster, ['caFile'], directory), ...(execConfig === undefined ? {} : { execConfig }) };
}

function completeUser(user: User, rawUsers: unknown, index: number, directory: string): KubeconfigUser {
  const raw = (rawUsers as Array<{ user?: Record<string, unknown> }>)[index]?.user ?? {};
  const groups = raw['as-groups'];
  const completed = {
    ...user,
    ...(typeof raw.tokenFile === 'string' ? { tokenFile: raw.tokenFile } : {}),
    impersonateGroups: Array.isArray(groups) ? groups.map(String) : [],
  };
  return {
    ...absolute(completed, ['certFile', 'keyFile', 'tokenFile'], directory),
    exec: execIn(user.exec, directory),
  };
}

/** A program with a slash in its name is beside the kubeconfig, and any other one on PATH. */
function execIn(exec: User['exec'], directory: string): User['exec'] {
  const { command } = (exec ?? {}) as { readonly command?: unknown };
  if (typeof command !== 'string' || !command.includes('/')) return exec;
  return { ...exec, command: path.resolve(directory, command) };
}

function absolute<T extends object>(entry: T, fields: readonly string[], directory: string): T {
  const paths = Object.entries(entry)
    .filter(([field, value]) => fields.includes(field) && typeof value === 'string')
    .map(([field, value]) => [field, path.resolve(directory, value as string)]);
  return { ...entry, ...Object.fromEntries(paths) };
}

function firstByName<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  const byName = new Map<string, T>();
  for (const entry of entries) if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return [...byName.values()];
}

function named<T extends { readonly name: string }>(entries: readonly T[], name: string, what: string): T {
  const found = entries.find((entry) => entry.name === name);
  if (found) return found;
  const others = entries.map((entry) => JSON.stringify(entry.name));
  const known = others.length > 0 ? `; there are: ${listNames(others, 10)}` : '';
  throw localError('configuration', `kubeconfig: ${what} "${name}" does not exist${known}`);
}
