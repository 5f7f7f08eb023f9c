/** What the accounts of Sources may write, as the API server says. */
import type { Clock } from '../../../api/clock.ts';
import { type KubernetesObject, referenceOf } from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { failureOf } from '../../failure.ts';

/** Asks for each account and object once a minute, and more often after a refusal. */
export interface AccountRights {
  /** Whether the account may write the object. Throws what the API server says. */
  mayWrite(account: string, object: KubernetesObject): Promise<boolean>;
}

/** Somebody may change a role at any time. */
const believedMs = 60_000;
/** A role that was bound just now counts soon. */
const refusedMs = 5_000;

interface Answer {
  untilMs: number;
  readonly isAllowed: Promise<boolean>;
}

/** Nothing was asked yet. */
export function createAccountRights({
  cluster,
  clock,
}: {
  readonly cluster: Cluster;
  readonly clock: Pick<Clock, 'nowMs'>;
}): AccountRights {
  const answers = new Map<string, Answer>();

  function ask(account: string, { apiVersion, kind, namespace, name }: Question): Promise<boolean> {
    const key = [account, apiVersion, kind, namespace ?? '', name ?? ''].join(' ');
    const known = answers.get(key);
    const nowMs = clock.nowMs();
    if (known && nowMs < known.untilMs) return known.isAllowed;
    const where = { apiVersion, kind, ...(namespace ? { namespace } : {}), ...(name ? { name } : {}) };
    const isAllowed = cluster.as(account).mayPatch(where);
    const answer: Answer = { untilMs: nowMs + believedMs, isAllowed };
    answers.set(key, answer);
    isAllowed.then(
      (isIt) => {
        if (!isIt) answer.untilMs = nowMs + refusedMs;
      },
      () => answers.delete(key),
    );
    return isAllowed;
  }

  return {
    async mayWrite(account, object) {
      const { name, ...kind } = referenceOf(object);
      try {
        // One answer for a thousand workloads of a kind; some accounts may write only those of certain names.
        return (await ask(account, kind)) || (await ask(account, { ...kind, name }));
      } catch (error) {
        const { reason } = failureOf(error);
        // Who may not be impersonated writes nothing. What a kind is that nobody serves, the write itself tells.
        if (reason === 'Forbidden' || reason === 'UnknownKind') return reason === 'UnknownKind';
        throw error;
      }
    },
  };
}

type Question = Parameters<Cluster['mayPatch']>[0];
