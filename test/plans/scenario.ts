import type { PodOutcome } from '../../sandbox/controllers/pod-behaviour.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { imageOf } from '../objects.ts';
import { statusOf } from '../sandbox/holdfast-bed.ts';
import type { World } from './world.ts';

/** What a scenario and its end are told by. */
export interface Seen {
  readonly canary: KubernetesObject | undefined;
  readonly status: Readonly<Record<string, unknown>>;
  /** Image of a workload. */
  image(name: string): string | undefined;
  /** What the status of another object of ours says. */
  statusOf(kind: 'canaries' | 'sources', name: string): Readonly<Record<string, unknown>>;
  /** By its key in the sandbox's store. */
  find(storageKey: string, name: string): KubernetesObject | undefined;
  readonly hasRoute: boolean;
}

/** One thing that people do, as soon as something is there to be seen. */
export interface Act {
  readonly when: (seen: Seen) => boolean;
  readonly act: (world: World, seen: Seen) => unknown;
}

/** A reference scenario: what people commit and do, and what the pods do. */
export interface Scenario {
  readonly name: string;
  readonly commits: ReadonlyArray<Readonly<Record<string, string | null>>>;
  /** The indexes of commits that are signed. */
  readonly signed?: readonly number[];
  readonly acts: readonly Act[];
  readonly isOver: (seen: Seen) => boolean;
  readonly pods?: (pod: KubernetesObject) => PodOutcome | undefined;
  /** Requests of users fail in the undisturbed run, too. */
  readonly usersMayFail?: true;
  /** What becomes of the releases on the way depends on when Git is read. */
  readonly historyMayDiffer?: true;
  /** Another tool applies the target. */
  readonly hasForeignTarget?: true;
  /** The target moves to another Source with its next release, which may be written before that one was read again after a start. */
  readonly memberMayDiffer?: true;
  /** How it ends depends on when Holdfast learns of something; an event that it never learns of shows half an hour later. */
  readonly needsEvents?: true;
  /** What people and webhooks are told is part of the end. */
  readonly tells?: true;
  /** It compares times that were written before and after a start. */
  readonly needsClock?: true;
  /** What Holdfast writes in its repository. */
  readonly writesGit?: 'ledger' | 'branch';
  /** Its webhooks are asked of the world's server. */
  readonly asksHooks?: true;
  /** What stays in the end would not come back: old pods that serve beside new ones, Services without a Canary. */
  readonly leavesSome?: true;
}

const workloads = ['apps/deployments', 'apps/daemonsets', 'apps/statefulsets'];

/** What is there now, read from the store itself. */
export function look({ sandbox: { store } }: World): Seen {
  const found = store.get('flagger.app/canaries', 'shop', 'web');
  return {
    canary: found,
    status: statusOf(found),
    image: (name) =>
      imageOf(workloads.map((kind) => store.get(kind, 'shop', name)).find((one) => one !== undefined)),
    statusOf: (kind, name) =>
      statusOf(store.get(`${kind === 'canaries' ? 'flagger.app' : 'holdfast.dev'}/${kind}`, 'shop', name)),
    find: (storageKey, name) => store.get(storageKey, 'shop', name),
    hasRoute: store.get('gateway.networking.k8s.io/httproutes', 'shop', 'web') !== undefined,
  };
}
