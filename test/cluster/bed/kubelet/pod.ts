import type { Container, KubernetesObject } from '../../../../src/api/kubernetes.ts';
import { type ApiClient, ApiError } from '../api-client.ts';
import { type PodFault, type RunningContainer, startContainer } from './container.ts';
import type { ReadConfig } from './environment.ts';
import { createPodNetwork, needsOwnNetwork } from './network.ts';
import { firstStatus, podStatus } from './status.ts';

/** What every pod of the stand-in shares. */
export interface PodSettings {
  readonly client: ApiClient;
  /** The certificate of the API server, PEM. */
  readonly ca: string;
  readonly program: string;
  /** Of Knative's programs, once they are built. */
  readonly knativeFolder: string;
  readonly logsFolder: string;
  /** For what containers have of their own; removed with the bed. */
  readonly folder: string;
}

/** Annotation of a pod, put there while it runs: what is wrong with it from then on, `crash` or `unready`. */
export const faultAnnotation = 'bed.holdfast.dev/fault';

/** A pod at work. */
export interface RunningPod {
  /** Takes over what somebody changed of it. */
  update(pod: KubernetesObject): void;
  /** Runs the preStop pause, stops the processes within the pod's grace period and removes the pod from the API. */
  remove(pod: KubernetesObject): Promise<void>;
  /** Kills the processes at once and writes nothing more. */
  kill(): Promise<void>;
}

/** What starts and becomes ready within this time is written once. */
const STATUS_DELAY_MS = 100;
const RETRY_MS = 200;

/** Starts the containers of a pod on `address` and keeps its status in the API true. */
export function startPod(pod: KubernetesObject, address: string, settings: PodSettings): RunningPod {
  const { client } = settings;
  const { name, namespace, uid } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const spec = pod.spec as { containers: Container[]; terminationGracePeriodSeconds?: number };
  let status = firstStatus(pod, new Date().toISOString());
  let written = '';
  let scheduled = false;
  let writing: Promise<void> = Promise.resolve();
  let gone = false;

  /** One write at a time, in order: an older status that arrives late would stay for ever. */
  const write = () => {
    writing = writing.then(writeOnce);
    return writing;
  };
  const writeOnce = async () => {
    scheduled = false;
    const views = containers.map(({ view }) => view);
    status = podStatus(pod, address, views, status, new Date().toISOString());
    const text = JSON.stringify(status);
    if (gone || text === written) return;
    const headers = { 'content-type': 'application/merge-patch+json' };
    try {
      await client.request('PATCH', `${path}/status`, { metadata: { uid }, status }, headers);
      written = text;
    } catch (error) {
      gone ||= isGone(error);
      schedule(RETRY_MS);
    }
  };
  const schedule = (delayMs: number) => {
    if (!scheduled) setTimeout(() => void write(), delayMs);
    scheduled = true;
  };
  const onChange = () => schedule(STATUS_DELAY_MS);
  const read: ReadConfig = (kind, configName) =>
    client
      .request('GET', `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${configName}`)
      .catch((error: unknown) => {
        if (isGone(error)) return undefined;
        throw error;
      });
  const network = needsOwnNetwork(pod) ? createPodNetwork(pod, address, settings.folder) : undefined;
  const containers: RunningContainer[] = spec.containers.map((container, index) =>
    startContainer({ shared: settings, pod, container, index, address, network, read, onChange }),
  );
  const update = ({ metadata: { annotations } }: KubernetesObject) => {
    const fault = annotations?.[faultAnnotation] as PodFault | undefined;
    for (const container of containers) container.setFault(fault);
  };
  update(pod);
  onChange();

  const stopAll = async (graceMs: number) => {
    await Promise.all(containers.map((container) => container.stop(graceMs)));
    // Where it could not be made, no process of the pod was started.
    const made = await network?.catch(() => undefined);
    made?.close();
  };
  const remove = async (deleted: KubernetesObject) => {
    const seconds = Number(
      deleted.metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30,
    );
    const pauseMs = Math.min(seconds * 1000, preStopMs(spec.containers));
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    await stopAll(Math.max(seconds * 1000 - pauseMs, 100));
    await write();
    gone = true;
    await client
      .request('DELETE', path, { gracePeriodSeconds: 0, preconditions: { uid } })
      .catch((error: unknown) => {
        if (!isGone(error)) throw error;
      });
  };
  const kill = async () => {
    gone = true;
    await stopAll(0);
  };
  return { update, remove, kill };
}

/** The longest `preStop.sleep` of the containers; other hooks need a shell in the container, which the bed does not have. */
function preStopMs(containers: readonly Container[]): number {
  const seconds = containers.map((container) => {
    const lifecycle = container.lifecycle as { preStop?: { sleep?: { seconds: number } } } | undefined;
    return lifecycle?.preStop?.sleep?.seconds ?? 0;
  });
  return Math.max(0, ...seconds) * 1000;
}

/** The pod is not there any more, or another one has its name. Any other conflict goes away by trying again. */
function isGone(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 404 || (error.status === 409 && /uid/i.test(error.message));
}
