/** How the tools take objects back. Pure. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { BackTool } from './back.ts';
import { conditionOf, isObserved } from './findings.ts';

/** Flux's ways. */
export const fluxBack: BackTool = {
  resume: (document) => document.setIn(['spec', 'suspend'], false),
  prune: (document) => document.setIn(['spec', 'prune'], true),
  applies(live) {
    if ((live.spec as { suspend?: boolean } | undefined)?.suspend === true) return 'it is suspended';
    if (!isObserved(live)) return 'Flux has not looked at it since it was changed';
    const ready = conditionOf(live, 'Ready');
    return ready?.status === 'True' || (ready?.message ?? 'it is not Ready');
  },
  prunes: (live) => (live.spec as { prune?: boolean } | undefined)?.prune === true,
};

const noPrune = 'Prune=false';

/** Argo CD's ways. */
export const argoBack: BackTool = {
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
    if (sync?.status !== 'Synced') return `it is ${sync?.status ?? 'not looked at'}; sync it`;
    return operationState?.phase === 'Succeeded' || `its last sync: ${operationState?.phase ?? 'none'}`;
  },
  prunes(live: KubernetesObject) {
    const { syncPolicy } = (live.spec ?? {}) as {
      syncPolicy?: { automated?: { prune?: boolean }; syncOptions?: string[] };
    };
    return syncPolicy?.automated?.prune === true && !syncPolicy.syncOptions?.includes(noPrune);
  },
};
