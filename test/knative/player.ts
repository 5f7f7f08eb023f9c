/**
 * Plays Knative's controllers on an API server: each change of a Service's template makes a revision, and the traffic of the spec shows in the
 * status once its revisions are ready. No pod runs, and no request is divided.
 */
import { canonicalJson, type KubernetesObject } from '../../src/api/kubernetes.ts';

/** One request to the API server; answers with the object. */
export type Ask = (
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  body?: unknown,
  contentType?: string,
) => Promise<unknown>;

/** A running player. */
export interface KnativePlayer {
  stop(): Promise<void>;
}

interface TrafficEntry {
  revisionName?: string;
  latestRevision?: boolean;
  percent?: number;
}

interface Spec {
  template: { metadata?: { annotations?: Record<string, string> }; spec: Record<string, unknown> };
  traffic?: TrafficEntry[];
}

interface Status {
  latestCreatedRevisionName?: string;
  latestReadyRevisionName?: string;
}

const mergePatch = 'application/merge-patch+json';

/** Starts it for one namespace; `fails` says which templates make a revision that never becomes ready. */
export function playKnative(
  ask: Ask,
  namespace: string,
  {
    fails = () => false,
    intervalMs = 50,
    pause = () => new Promise((resolve) => setTimeout(resolve, intervalMs)),
  }: {
    fails?: (template: Spec['template']) => boolean;
    intervalMs?: number;
    /** Before it looks again; by default for so long. */
    pause?: () => Promise<unknown>;
  } = {},
): KnativePlayer {
  const base = `/apis/serving.knative.dev/v1/namespaces/${namespace}`;
  let stopped = false;

  async function look(): Promise<void> {
    const { items = [] } = ((await ask('GET', `${base}/services`)) ?? {}) as { items?: KubernetesObject[] };
    for (const service of items) await reconcile(service);
  }

  async function reconcile(service: KubernetesObject): Promise<void> {
    const { name, generation = 0, uid } = service.metadata;
    const { template, traffic = [{ latestRevision: true, percent: 100 }] } = service.spec as unknown as Spec;
    const { items = [] } = (await ask('GET', `${base}/revisions`)) as { items?: KubernetesObject[] };
    const own = items
      .filter(({ metadata }) => metadata.labels?.['serving.knative.dev/service'] === name)
      .sort((left, right) => left.metadata.name.localeCompare(right.metadata.name));
    const said = JSON.stringify(template);
    const newest = own.at(-1);
    const isMade = newest?.metadata.annotations?.['test/template'] === said;
    const number = Number(newest?.metadata.name.slice(-5) ?? 0);
    const revision = isMade ? newest.metadata.name : `${name}-${String(number + 1).padStart(5, '0')}`;
    if (!isMade) {
      await ask('POST', `${base}/revisions`, {
        apiVersion: 'serving.knative.dev/v1',
        kind: 'Revision',
        metadata: {
          name: revision,
          namespace,
          labels: { 'serving.knative.dev/service': name },
          annotations: {
            ...template.metadata?.annotations,
            'test/template': said,
            'serving.knative.dev/creator': uid,
          },
        },
        spec: template.spec,
      });
      const ready = fails(template)
        ? { type: 'Ready', status: 'False', reason: 'ExitCode1', message: 'container exited with code 1' }
        : { type: 'Ready', status: 'True' };
      await ask(
        'PATCH',
        `${base}/revisions/${revision}/status`,
        { status: { conditions: [ready] } },
        mergePatch,
      );
    }
    const before = (service.status ?? {}) as Status;
    const isReady = !fails(template);
    const latestReady = isReady ? revision : before.latestReadyRevisionName;
    const status = {
      observedGeneration: generation,
      latestCreatedRevisionName: revision,
      ...(latestReady ? { latestReadyRevisionName: latestReady } : {}),
      traffic: traffic.map((entry) =>
        entry.latestRevision ? { ...entry, revisionName: latestReady } : entry,
      ),
      conditions: [{ type: 'RoutesReady', status: 'True' }],
    };
    if (canonicalJson(before) === canonicalJson(status)) return;
    await ask('PATCH', `${base}/services/${name}/status`, { status }, mergePatch);
  }

  const running = (async () => {
    while (!stopped) {
      await look().catch(() => undefined);
      await pause();
    }
  })();
  return {
    async stop() {
      stopped = true;
      await running;
    },
  };
}
