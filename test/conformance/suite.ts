import { afterAll, beforeAll, describe } from 'vitest';
import { applyLimitTests } from './apply-limits.ts';
import { autoscalerTests } from './autoscalers.ts';
import { customResourceTests } from './custom-resources.ts';
import { daemonSetTests } from './daemon-sets.ts';
import { deploymentTests } from './deployments.ts';
import { endpointTests } from './endpoints.ts';
import { heldByRevisionTests } from './held-by-revision.ts';
import { heldRolloutTests } from './held-rollouts.ts';
import { kindTests } from './kinds.ts';
import { lifecycleTests } from './lifecycle.ts';
import { listTests } from './lists.ts';
import { objectTests } from './objects.ts';
import { routeTests } from './routes.ts';
import { applyTests } from './server-side-apply.ts';
import type { Target } from './target.ts';
import { watchTests } from './watches.ts';

/** What each group of tests is given. */
export interface Suite {
  /** The connected server; only inside tests. */
  target(): Target;
  /** A resourceVersion that the server no longer remembers for a kind which was defined a moment ago. */
  forgottenVersion(): Promise<string>;
  /** Whether a watch may begin with the objects that exist; Kubernetes 1.30 does not by default, 1.34 and later do. */
  readonly streamsInitialState: boolean;
  /** A Gateway that takes routes from every namespace. */
  gateway(): Promise<{ name: string; namespace: string }>;
}

/** What differs between servers. */
export type ConformanceOptions = Omit<Suite, 'target'>;

/** One set of tests for the sandbox and for a real API server, so that the sandbox claims nothing a real server does not do. */
export function conformance(
  suiteName: string,
  connect: () => Promise<Target>,
  options: ConformanceOptions,
): void {
  describe(`${suiteName} behaves as a Kubernetes API`, () => {
    let connected: Target | undefined;
    beforeAll(async () => {
      connected = await connect();
    });
    afterAll(() => connected?.close());
    const suite: Suite = {
      target() {
        if (!connected) throw new Error('not connected');
        return connected;
      },
      ...options,
    };
    describe('objects', () => objectTests(suite));
    describe('kinds', () => kindTests(suite));
    describe('server-side apply', () => applyTests(suite));
    describe('limits of server-side apply', () => applyLimitTests(suite));
    describe('lists and discovery', () => listTests(suite));
    describe('watches', () => watchTests(suite));
    describe('finalizers and owners', () => lifecycleTests(suite));
    describe('custom resources', () => customResourceTests(suite));
    describe('routes', () => routeTests(suite));
    describe.concurrent('deployments', () => deploymentTests(suite));
    describe.concurrent('endpoints', () => endpointTests(suite));
    describe.concurrent('held rollouts', () => heldRolloutTests(suite));
    describe.concurrent('held by revision', () => heldByRevisionTests(suite));
    describe.concurrent('autoscalers', () => autoscalerTests(suite));
    describe.concurrent('daemon sets', () => daemonSetTests(suite));
  });
}
