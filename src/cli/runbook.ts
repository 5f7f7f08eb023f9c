import type { Canary } from '../api/canary/canary.ts';
import { canaryStatus, notReconciled, troublesBeside } from '../api/canary/summary.ts';
import { isCommit } from '../api/commit.ts';
import { isToldAsMerge } from '../api/incident.ts';
import { conditionOf, type KubernetesObject, type NamespacedName, partOfLabel } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import { rowOf } from '../api/reasons.ts';
import { onApiError } from '../cluster/errors.ts';
import { applySetId } from '../engine/apply-set.ts';
import { type DataFormat, formatOutput, printable, printed } from '../terminal/output.ts';
import { type CliCommand, emit, withConnection } from './command.ts';
import { type ClusterFlags, outputOption, withPlace } from './flags.ts';
import { readAll, readOne } from './objects.ts';
import { nameIn, type RequestClient } from './requests/request.ts';
import runbooks from './runbooks.json' with { type: 'json' };

/** The lines of docs/runbooks by reason, so that a runbook can be read wherever the program is. */
const pages: Readonly<Record<string, readonly string[]>> = runbooks;

interface RunbookFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly output: 'text' | DataFormat;
}

/** `holdfast runbook`: what to do about a reason, or about a Canary as it is. */
export const runbookCommand: CliCommand = {
  register(command, context) {
    withPlace(
      command
        .description(
          'show the runbook of a Canary as it is now, with its names filled in, or of a reason such as PrimaryNotReady',
        )
        .argument('[subject]', 'NAME or canary/NAME, or a reason (default: list the reasons)'),
    )
      .addOption(outputOption())
      .action(async (subject: string | undefined, flags: RunbookFlags) => {
        const { output } = flags;
        if (subject === undefined) {
          const reasons = Object.keys(pages);
          const list =
            output === 'text'
              ? `${reasons.join('\n')}\n`
              : formatOutput('RunbookReasons', { reasons }, output);
          emit(printed(list), context);
          return;
        }
        const isReason = reasonOf(subject) !== undefined || (/[A-Z]/.test(subject) && !subject.includes('/'));
        const page = isReason
          ? pageOf(subject)
          : await withConnection(flags, context, ({ access, client }) =>
              pageFor(client, {
                namespace: flags.namespace ?? access.namespace,
                name: nameIn(subject, 'Canary'),
              }),
            );
        const stdout = output === 'text' ? page.text : formatOutput('Runbook', page, output);
        emit(printed(stdout), context);
      });
  },
};

/** The runbook of a Canary as it is now, with its names. Throws ApiError and InputError. */
export async function pageFor(
  client: Pick<RequestClient, 'get' | 'list'>,
  place: NamespacedName,
): Promise<{ readonly reason: string; readonly canary: string; readonly text: string }> {
  const object = await readOne(client, 'Canary', place);
  const status = canaryStatus(object);
  const ready = conditionOf(status, 'Ready');
  const canary = `${place.namespace}/${place.name}`;
  if (!ready) throw new InputError(`Canary ${canary}: ${notReconciled}`);
  // A reason that is not in the table is what keeps the Canary from being acted on.
  const others = rowOf(ready.reason) ? troublesBeside(status) : [];
  const found = [ready, ...others].find(({ reason }) => reasonOf(reason) !== undefined);
  if (!found) throw new InputError(`Canary ${canary}: ${whyNoPage(ready.reason, ready.message)}`);
  const { reason, text } = pageOf(found.reason);
  // What is under way is what it is about; an older release may have been rejected before.
  const commit = status.run?.commit ?? status.rejected?.at(-1)?.commit;
  const source = text.includes('source/shop') ? await sourceOf(client, object) : undefined;
  const isMerge = isToldAsMerge(commit ?? '', status.incidents);
  const names = { ...place, ...workloadsOf(object), commit, isMerge, source };
  return { reason, canary, text: filledIn(text, names) };
}

/** Reasons of the table without a page ask nothing of anybody; others are told by what the condition says. */
function whyNoPage(reason: string, message: string): string {
  if (rowOf(reason)) return `its reason ${printable(reason)} needs no action`;
  const told = printable(message ? `${reason}: ${message}` : reason);
  return `${told}; there is no runbook for this reason, see docs/guides/troubleshooting.md`;
}

/** The Source that holds the Canary; undefined: another tool does, or who asks may not list Sources. */
async function sourceOf(
  client: Pick<RequestClient, 'list'>,
  canary: KubernetesObject,
): Promise<NamespacedName | undefined> {
  const id = canary.metadata.labels?.[partOfLabel];
  if (id === undefined) return undefined;
  const sources = await readAll(client, 'Source', { metadataOnly: true }).catch(
    onApiError(['forbidden', 'unknownKind'], () => []),
  );
  const found = sources.find((source) => applySetId(source) === id)?.metadata;
  return found && { namespace: found.namespace ?? '', name: found.name };
}

function workloadsOf({ metadata, spec, status }: KubernetesObject): Workloads {
  const { targetRef, service, provider } = (spec ?? {}) as Partial<Canary['spec']>;
  const target = targetRef?.name ?? metadata.name;
  const inEffect = (status as { provider?: string } | undefined)?.provider ?? provider;
  const isAlone = inEffect === 'native' || inEffect === 'knative';
  const isKnative = targetRef?.apiVersion?.startsWith('serving.knative.dev/');
  const kind = targetRef?.kind?.toLowerCase() ?? 'deployment';
  return {
    workload: isKnative ? 'services.serving.knative.dev' : kind,
    target,
    primary: isAlone ? target : `${target}-primary`,
    apex: service?.name || target,
  };
}

function reasonOf(word: string): string | undefined {
  return Object.keys(pages).find((name) => name.toLowerCase() === word.toLowerCase());
}

/** Throws InputError for a reason without a runbook. */
function pageOf(reason: string): { readonly reason: string; readonly text: string } {
  const known = reasonOf(reason);
  if (known) return { reason: known, text: (pages[known] ?? []).join('\n') };
  throw new InputError(
    `${printable(reason)}: there is no runbook for this reason; docs/guides/troubleshooting.md says where to look for those of Sources, specs and the API server, and holdfast runbook lists those that have one`,
  );
}

interface Workloads {
  /** Kind of the target, as kubectl takes it. */
  readonly workload: string;
  readonly target: string;
  readonly primary: string;
  readonly apex: string;
}

/** What stands in the place of the page's example: Canary, Deployment and route `web`, namespace and Source `shop`, and COMMIT. */
interface Names extends NamespacedName, Workloads {
  readonly commit: string | undefined;
  /** Git reverts it only with `-m`. */
  readonly isMerge?: boolean;
  readonly source: NamespacedName | undefined;
}

/** In one pass: the names that are filled in may hold those of the example. */
const example =
  /source\/shop -n shop|deploy(?:ment)?([ /])(web(?:-primary)?)\b|\bweb-primary\b|\b(http(?:route|proxy)) web\b|\bapp=web\b|\bweb\b|-n shop\b|\bCOMMIT\b/g;

/** A page with these names. */
export function filledIn(page: string, names: Names): string {
  const intro = /^In the commands, replace .*\n(.*\n)?\n/m;
  const revert = names.isMerge ? 'git revert --no-edit -m 1' : 'git revert --no-edit';
  // A release that no Source has made is the one that the command finds.
  const named = isCommit(names.commit) ? ' --revision COMMIT' : '';
  return page.replace(intro, '').replace(/^```sh\n[\s\S]*?^```/gm, (block) =>
    block
      .replaceAll('git revert --no-edit', revert)
      .replaceAll(' --revision COMMIT', named)
      .replace(example, (word, between?: string, workload?: string, route?: string) => {
        if (workload)
          return `${names.workload}${between}${workload === 'web' ? names.target : names.primary}`;
        return route ? `${route} ${names.apex}` : nameFor(word, names);
      }),
  );
}

function nameFor(word: string, { namespace, name, primary, target, commit, source }: Names): string {
  if (word === 'web') return name;
  if (word === 'web-primary') return primary;
  if (word === 'app=web') return `app=${target}`;
  if (word === '-n shop') return `-n ${namespace}`;
  if (word === 'COMMIT') return isCommit(commit) ? commit : word;
  return source ? `source/${source.name} -n ${source.namespace}` : 'source/SOURCE -n NAMESPACE';
}
