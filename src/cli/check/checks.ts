/** Checks everything that Holdfast depends on. Changes nothing. */
import type { Canary } from '../../api/canary/canary.ts';
import type { Source } from '../../api/source/source.ts';
import type { HttpClient } from '../../http/types.ts';
import type { Connection } from '../../server/connection.ts';
import { bad, type CheckLine, type CheckSection, guarded } from '../../terminal/check-report.ts';
import { type CanaryRules, checkCanaries, checkProviders, usedBy } from './canaries.ts';
import {
  checkConflictingControllers,
  checkController,
  checkCrds,
  checkNamespaces,
  checkServer,
  listObjects,
} from './cluster.ts';
import { checkGatewayFeatures } from './gateways.ts';
import { checkMetrics, type MetricOptions } from './metrics.ts';
import { type Asker, checkRights, type InstalledChoice } from './rights.ts';
import { gitSection, readableSources } from './sources.ts';
import { checkTrust } from './trust.ts';

/** What `holdfast check` is asked for. */
export interface CheckOptions extends InstalledChoice, Asker, MetricOptions {
  /** Sources of files; empty: those of the cluster. */
  readonly sources: readonly Source[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What checking needs. */
interface CheckParts {
  readonly connection: Pick<Connection, 'access' | 'client' | 'transport'>;
  readonly http: HttpClient;
}

/** Checks everything Holdfast depends on, each thing after those that it needs. Changes nothing. */
export async function check(parts: CheckParts, options: CheckOptions): Promise<CheckSection[]> {
  const { access, client, transport } = parts.connection;
  const { sources: given, watchNamespaces: watched, defaultProvider } = options;
  const gitChecks = { client, http: parts.http, env: options.env, given };
  const server = await guarded(access.server, async () => [await checkServer(transport, access.server)]);
  const sections: CheckSection[] = [{ title: 'API server', lines: server }];
  if (server.some(({ state }) => state === 'failed'))
    return [...sections, await gitSection(gitChecks, given)];
  sections.push({ title: 'CustomResourceDefinitions', lines: await checkCrds(client) });
  const controller = await guarded('controller', async () => [
    await checkController(client, options.ownNamespace, transport.serverNowMs),
  ]);
  const namespaces = await guarded('Namespaces', () => checkNamespaces(client, watched));
  sections.push({ title: 'Controller', lines: [...controller, ...namespaces] });
  const canaries = await listObjects(client, watched, 'Canary');
  const templates = await listObjects(client, watched, 'MetricTemplate');
  const found = checkCanaries(canaries.objects, options);
  sections.push({ title: 'Rights', lines: await rightsLines(parts, options, found.valid) });
  const providers = await guarded('Providers', () => checkProviders(client, found.valid, defaultProvider));
  const gateways = await guarded('Gateways', () =>
    checkGatewayFeatures(client, found.valid, defaultProvider),
  );
  const conflicting = await guarded('Flagger', () => checkConflictingControllers(client));
  sections.push({
    title: 'Canaries',
    lines: [...canaries.lines, ...found.lines, ...providers, ...gateways, ...conflicting],
  });
  const inCluster =
    given.length > 0 ? { objects: [], lines: [] } : await listObjects(client, watched, 'Source');
  const readable = readableSources(inCluster.objects);
  const sources = given.length > 0 ? given : readable.valid;
  const git = await gitSection(gitChecks, sources);
  sections.push({ ...git, lines: [...inCluster.lines, ...readable.lines, ...git.lines] });
  const trust = await checkTrust({ client, transport, ...options }, sources);
  if (trust.length > 0) sections.push({ title: 'Accounts and keys', lines: trust });
  const asked = { ...options, client, transport, http: parts.http, templates: templates.objects };
  const metrics = await guarded('Metrics', () => checkMetrics(asked, found.valid));
  return [...sections, { title: 'Metrics', lines: metrics }];
}

/** CRDs and rights that are not as Holdfast needs them, and Sources that were not asked. Throws ApiError when the API server does not answer. */
export async function clusterFindings(
  parts: Pick<CheckParts, 'connection'>,
  options: RightsQuery,
): Promise<CheckLine[]> {
  const { client } = parts.connection;
  const { watchNamespaces } = options;
  const crds = await checkCrds(client);
  const canaries = await listObjects(client, watchNamespaces, 'Canary');
  const { valid } = checkCanaries(canaries.objects, options);
  const rights = await rightsLines(parts, options, valid);
  const sources = await listObjects(client, watchNamespaces, 'Source');
  const lines = [...crds, ...canaries.lines, ...rights, ...sources.lines];
  const findings = lines.filter(({ state }) => state !== 'ok');
  if (sources.objects.length === 0) return findings;
  const detail = `${sources.objects.length} in the cluster; the desired state of their targets is in Git, which this command does not read`;
  const act = 'run holdfast run --shadow to include Git';
  return [...findings, bad('warning', 'Sources', detail, { actor: 'nobody', act })];
}

type RightsQuery = InstalledChoice & Asker & CanaryRules;

async function rightsLines(
  { connection }: Pick<CheckParts, 'connection'>,
  { defaultProvider, ...query }: RightsQuery,
  canaries: readonly Canary[],
): Promise<readonly CheckLine[]> {
  const used = usedBy(canaries, defaultProvider);
  return guarded('Rights', () => checkRights(connection.transport, { ...query, ...used }));
}
