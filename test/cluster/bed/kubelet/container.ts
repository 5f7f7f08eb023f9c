import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Container, KubernetesObject } from '../../../../src/api/kubernetes.ts';
import { ConfigMissing, missingVolumes, type ReadConfig, resolveEnvironment } from './environment.ts';
import { type Command, holdfastCommand } from './holdfast.ts';
import { behaviourOf, pullError, splitImage } from './image.ts';
import { knativeCommand } from './knative.ts';
import type { PodNetwork } from './network.ts';
import type { PodSettings } from './pod.ts';
import { livenessPace, type Probe, readinessPace, watchProbe } from './probe.ts';

/** Where a container stands, in the words of a pod's containerStatuses; times are RFC 3339. */
export type ContainerPhase =
  | { readonly kind: 'waiting'; readonly reason: string; readonly message?: string }
  | { readonly kind: 'running'; readonly startedAt: string }
  | Terminated;

/** A process that has ended. */
export interface Terminated {
  readonly kind: 'terminated';
  readonly exitCode: number;
  readonly startedAt: string;
  readonly finishedAt: string;
}

/** One container of one pod, as it is now. */
export interface ContainerView {
  phase: ContainerPhase;
  ready: boolean;
  restarts: number;
  /** The restart policy wants no further run. */
  finished: boolean;
  last?: Terminated;
}

/** What a test may do to one pod of many: it never passes its readiness probe, or its process ends whenever it is started. */
export type PodFault = 'crash' | 'unready';

/** What a container needs to run. */
export interface ContainerSettings {
  readonly pod: KubernetesObject;
  readonly container: Container;
  /** Position among the pod's containers: the first gets PORT. */
  readonly index: number;
  readonly address: string;
  /** Undefined: that of all pods. */
  readonly network: Promise<PodNetwork> | undefined;
  readonly shared: PodSettings;
  readonly read: ReadConfig;
  /** Called after every change of `view`. */
  readonly onChange: () => void;
}

/** A container at work. */
export interface RunningContainer {
  readonly view: ContainerView;
  /** What is wrong with its pod from now on; undefined: nothing any more. */
  setFault(fault: PodFault | undefined): void;
  /** SIGTERM, then SIGKILL after `graceMs`; done when the process is gone. */
  stop(graceMs: number): Promise<void>;
}

const RETRY_MS = 400;
const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 10_000;
const STABLE_AFTER_MS = 60_000;

/** Starts a container and keeps it running as its pod's restart policy says. */
export function startContainer(settings: ContainerSettings): RunningContainer {
  const { pod, container, onChange } = settings;
  const stopping = new AbortController();
  const phase: ContainerPhase = { kind: 'waiting', reason: 'ContainerCreating' };
  const view: ContainerView = { phase, ready: false, restarts: 0, finished: false };
  let child: ChildProcess | undefined;
  let fault: PodFault | undefined;
  let passes = false;
  const set = (change: Partial<ContainerView>) => {
    Object.assign(view, change);
    onChange();
  };
  const isReady = () => passes && fault === undefined;
  const wait = (reason: string, message?: string) =>
    set({
      phase: message === undefined ? { kind: 'waiting', reason } : { kind: 'waiting', reason, message },
      ready: false,
    });
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal });

  const runProcess = async (environment: Record<string, string>): Promise<Terminated> => {
    const command = await commandOf(settings, environment);
    const startedAt = new Date().toISOString();
    const probes = new AbortController();
    child = startProcess(settings, command);
    const ended = new Promise<number>((resolve) => {
      child?.on('error', () => resolve(127));
      child?.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGKILL' ? 137 : 143)));
    });
    const readiness = container.readinessProbe as Probe | undefined;
    const liveness = container.livenessProbe as Probe | undefined;
    const probed = (verdict: boolean) => {
      passes = verdict;
      set({ ready: isReady() });
    };
    passes = !readiness;
    set({ phase: { kind: 'running', startedAt }, ready: isReady() });
    if (fault === 'crash') child.kill('SIGKILL');
    if (readiness) watchProbe(readiness, readinessPace(readiness), settings, probed, probes.signal);
    if (liveness) {
      watchProbe(
        liveness,
        livenessPace(liveness),
        settings,
        (alive) => alive || child?.kill('SIGTERM'),
        probes.signal,
      );
    }
    const exitCode = await ended;
    probes.abort();
    passes = false;
    child = undefined;
    return { kind: 'terminated', exitCode, startedAt, finishedAt: new Date().toISOString() };
  };

  /** Shows the crash, waits out the back-off and returns the next one, in milliseconds. */
  const backOff = async (end: Terminated, backoffMs: number): Promise<number> => {
    const pauseMs = ranMs(end) > STABLE_AFTER_MS ? 0 : backoffMs;
    set({ last: end, restarts: view.restarts + 1, ready: false, phase: end });
    if (pauseMs > 0) wait('CrashLoopBackOff', crashMessage(container, pauseMs));
    await pause(pauseMs);
    return Math.min(LONGEST_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, pauseMs * 2));
  };

  const life = async () => {
    await pull(settings, wait, pause);
    for (let backoffMs = 0; !stopping.signal.aborted; ) {
      const environment = await configured(settings, wait, pause);
      if (stopping.signal.aborted) return;
      if (behaviourOf(container.image ?? '') === 'fake') {
        passes = true;
        set({ phase: { kind: 'running', startedAt: new Date().toISOString() }, ready: isReady() });
        return;
      }
      const end = await runProcess(environment);
      if (stopping.signal.aborted || !restartsAfter(pod, end)) {
        set({ phase: end, ready: false, finished: true });
        return;
      }
      backoffMs = await backOff(end, backoffMs);
    }
  };
  const alive = life().catch((error: unknown) => {
    if (!stopping.signal.aborted) wait('RunContainerError', String(error));
  });

  const setFault = (next: PodFault | undefined) => {
    if (fault === next) return;
    fault = next;
    if (fault === 'crash') child?.kill('SIGKILL');
    if (view.phase.kind === 'running') set({ ready: isReady() });
  };
  const stop = async (graceMs: number) => {
    stopping.abort();
    const killer = setTimeout(() => child?.kill('SIGKILL'), graceMs);
    child?.kill('SIGTERM');
    await alive;
    clearTimeout(killer);
  };
  return { view, setFault, stop };
}

function restartsAfter(pod: KubernetesObject, end: Terminated): boolean {
  const { restartPolicy = 'Always' } = pod.spec as { restartPolicy?: string };
  return restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && end.exitCode !== 0);
}

function ranMs(end: Terminated): number {
  return Date.parse(end.finishedAt) - Date.parse(end.startedAt);
}

function crashMessage(container: Container, backoffMs: number): string {
  return `back-off ${backoffMs / 1000}s restarting failed container=${container.name}`;
}

type Wait = (reason: string, message?: string) => void;
type Pause = (ms: number) => Promise<unknown>;

/** Returns when the image is there; for an image that cannot be pulled, never. */
async function pull({ pod, container }: ContainerSettings, wait: Wait, pause: Pause): Promise<void> {
  const image = container.image ?? '';
  if (behaviourOf(image) === 'slow') {
    const file = slowness(pod, container, 'SLOW_PULL_FILE');
    while (file && !existsSync(file)) await pause(RETRY_MS);
    await pause(Number(slowness(pod, container, 'SLOW_PULL_MS') ?? (file ? 0 : 5_000)));
  }
  for (let error = pullError(image); error !== undefined; ) {
    wait('ErrImagePull', error);
    await pause(RETRY_MS);
    // As kubelets since 1.31 say it.
    wait('ImagePullBackOff', `Back-off pulling image "${image}": ErrImagePull: ${error}`);
    await pause(60_000);
  }
}

/** A setting, or its PRIMARY_ form in a primary pod: the canary's node may have the image already. */
function slowness(pod: KubernetesObject, container: Container, setting: string): string | undefined {
  const variables = (container.env ?? []) as Array<{ name?: string; value?: string }>;
  const value = (wanted: string) => variables.find(({ name }) => name === wanted)?.value;
  const isPrimary = pod.metadata.name.includes('-primary-');
  return (isPrimary ? value(`PRIMARY_${setting}`) : undefined) ?? value(setting);
}

/** Waits, with the reason shown, until every ConfigMap and Secret the container needs is there. */
async function configured(
  settings: ContainerSettings,
  wait: Wait,
  pause: Pause,
): Promise<Record<string, string>> {
  const { pod, container, read } = settings;
  for (;;) {
    try {
      const missing = await missingVolumes(pod, read);
      if (missing.length === 0)
        return await resolveEnvironment(pod, container, baseEnvironment(settings), read);
      wait('ContainerCreating', `volumes wait for ${missing.join(', ')}`);
    } catch (error) {
      if (!(error instanceof ConfigMissing)) throw error;
      wait('CreateContainerConfigError', error.message);
    }
    await pause(RETRY_MS);
  }
}

function baseEnvironment({ pod, container, index, address }: ContainerSettings): Record<string, string> {
  const declared = container.ports?.[0]?.containerPort;
  return {
    HOSTNAME: pod.metadata.name,
    NODE_NAME: String((pod.spec as { nodeName?: string }).nodeName ?? ''),
    POD_IP: address,
    POD_NAME: pod.metadata.name,
    POD_NAMESPACE: pod.metadata.namespace ?? '',
    PORT: String(declared ?? (index === 0 ? 8080 : 0)),
    VERSION: splitImage(container.image ?? '').tag,
  };
}

async function commandOf(settings: ContainerSettings, environment: Record<string, string>): Promise<Command> {
  const { shared, container } = settings;
  const behaviour = behaviourOf(container.image ?? '');
  const place = { ...settings, ...shared };
  if (behaviour === 'holdfast') return holdfastCommand(place, environment);
  if (!settings.network) return { program: shared.program, args: [], env: environment };
  const { inside } = await settings.network;
  if (behaviour === 'knative') return inside(await knativeCommand(place, environment));
  // Beside others in the pod it is asked on the loopback address, too.
  return inside({ program: shared.program, args: [], env: { ...environment, POD_IP: '' } });
}

function startProcess({ pod, container, shared }: ContainerSettings, command: Command): ChildProcess {
  const { name, namespace } = pod.metadata;
  const log = openSync(join(shared.logsFolder, `${namespace}_${name}_${container.name}.log`), 'a');
  try {
    return spawn(command.program, command.args, { env: command.env, stdio: ['ignore', log, log] });
  } finally {
    closeSync(log);
  }
}
