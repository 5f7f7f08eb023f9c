import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Source } from '../api/source/source.ts';
import { type FromSourceTool, fromSourceSteps } from './from-source.ts';
import { readFacts } from './read-facts.ts';
import { conditionOf, isObserved, type Move, placeSteps } from './steps.ts';
import { argoOfSource, fluxOfSource } from './tool-objects.ts';
import type { MoveQuery, MoveTree, Subject } from './tree.ts';

/** Plans the way of one Source back to the other tool. Throws ApiError. */
export async function planFromSource(tree: MoveTree, subject: Subject, query: MoveQuery): Promise<Move> {
  const { former, source, owner } = subject;
  const { namespace, name } = former;
  const title = `Source ${namespace}/${name}`;
  const made =
    source && !owner
      ? (former.kind === 'Application' ? argoOfSource : fluxOfSource)(source.object as Source)
      : undefined;
  const stops = (made?.stops ?? []).map(
    ({ field, message }) => `${source ? tree.at(source.origin, field) : ''}: ${field}: ${message}`,
  );
  for (const one of [source, owner])
    if (one && !one.object.metadata.namespace)
      stops.push(`${tree.at(one.origin, 'metadata')}: has no namespace; set it in the file`);
  if (stops.length > 0) return { name: title, stops, notes: [], steps: [] };

  const facts = query.cluster && (await readFacts(query.cluster.connection, { former, dependsOn: [] }));
  const tool = former.kind === 'Application' ? argoFromSource : fluxFromSource;
  const steps = fromSourceSteps(tool, { ...subject, files: tree.files, wanted: made?.objects ?? [], facts });
  return { name: title, stops: [], notes: made?.notes ?? [], steps: placeSteps(steps) };
}

// How the tools take objects back. Pure.

/** Flux's ways. */
const fluxFromSource: FromSourceTool = {
  resume: (document) => document.setIn(['spec', 'suspend'], false),
  prune: (document) => document.setIn(['spec', 'prune'], true),
  applies(live) {
    if ((live.spec as { suspend?: boolean } | undefined)?.suspend === true) return 'it is suspended';
    if (!isObserved(live)) return 'Flux has not observed the change yet';
    const ready = conditionOf(live, 'Ready');
    return ready?.status === 'True' || (ready?.message ?? 'it is not Ready');
  },
  prunes: (live) => (live.spec as { prune?: boolean } | undefined)?.prune === true,
};

const noPrune = 'Prune=false';

/** Argo CD's ways. */
const argoFromSource: FromSourceTool = {
  resume(document) {
    if (!document.hasIn(['spec', 'syncPolicy', 'automated']))
      document.setIn(['spec', 'syncPolicy', 'automated'], document.createNode({}));
  },
  prune(document) {
    document.setIn(['spec', 'syncPolicy', 'automated', 'prune'], true);
    const options = document.getIn(['spec', 'syncPolicy', 'syncOptions']) as
      | { toJSON?: () => unknown }
      | undefined;
    const kept = ((options?.toJSON?.() ?? []) as string[]).filter((option) => option !== noPrune);
    if (kept.length === 0) document.deleteIn(['spec', 'syncPolicy', 'syncOptions']);
    else document.setIn(['spec', 'syncPolicy', 'syncOptions'], document.createNode(kept));
  },
  applies(live) {
    const { sync, operationState } = (live.status ?? {}) as {
      sync?: { status?: string };
      operationState?: { phase?: string };
    };
    if (sync?.status !== 'Synced') return `it is ${sync?.status ?? 'not compared yet'}; sync it`;
    return operationState?.phase === 'Succeeded' || `its last sync: ${operationState?.phase ?? 'none'}`;
  },
  prunes(live: KubernetesObject) {
    const { syncPolicy } = (live.spec ?? {}) as {
      syncPolicy?: { automated?: { prune?: boolean }; syncOptions?: string[] };
    };
    return syncPolicy?.automated?.prune === true && !syncPolicy.syncOptions?.includes(noPrune);
  },
};
