/** Goes through the steps of a move as a person would: reads what is next, commits it, runs what is printed, and looks again. */

import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { type Api, applyAs, type Change, commitChanges, pathOf } from './tools.ts';

/** What the command says, as JSON. */
export interface SaidMove {
  readonly name: string;
  readonly stops: readonly string[];
  readonly steps: ReadonlyArray<{
    readonly title: string;
    readonly state: string;
    readonly changes: readonly Change[];
    readonly commands: readonly string[];
    readonly requires: ReadonlyArray<{
      readonly what: string;
      readonly holds?: boolean;
      readonly found?: string;
    }>;
    readonly ends: ReadonlyArray<{
      readonly what: string;
      readonly holds?: boolean;
      readonly found?: string;
    }>;
  }>;
}

/** How a journey is made. */
export interface Journey {
  readonly api: Api;
  /** Runs the command. */
  say(): Promise<SaidMove>;
  /** What the tools do meanwhile. */
  look(): Promise<void>;
  readonly timeoutMs: number;
  /** Turns round when this is next. */
  readonly before?: string;
}

/** Titles of the steps that were done, in order; ends when nothing is left. Throws when a step is refused, or does not end. */
export async function makeJourney({ api, say, look, timeoutMs, before }: Journey): Promise<string[]> {
  const done: string[] = [];
  const endMs = Date.now() + timeoutMs;
  for (;;) {
    const step = current(await say());
    if (!step || (step.state === 'next' && step.title === before)) return done;
    if (Date.now() > endMs) throw new Error(JSON.stringify(step, undefined, 1));
    if (step.state === 'next') {
      if (done.at(-1) !== step.title) done.push(step.title);
      commitChanges(step.changes);
      for (const command of step.commands) await runCommand(api, command);
    }
    await look();
    await sleep(100);
  }
}

function current({ steps, stops }: SaidMove): SaidMove['steps'][number] | undefined {
  if (stops.length > 0) throw new Error(stops.join('\n'));
  const step = steps.find(({ state }) => state !== 'done');
  if (step?.state === 'refused') throw new Error(JSON.stringify(step, undefined, 1));
  return step;
}

/** The commands that a move prints, as requests. */
async function runCommand(api: Api, command: string): Promise<void> {
  const stubs = /^kubectl apply --server-side --field-manager=(\S+) -f - <<'END'\n([\s\S]*)END$/.exec(
    command,
  );
  if (stubs) {
    const [, manager = '', text = ''] = stubs;
    for (const document of parseAllDocuments(text))
      await applyAs(api, manager, document.toJS() as KubernetesObject);
    return;
  }
  const label = /^kubectl -n (\S+) label (\w+)(?:\.(\S+))? (\S+) (\S+)-$/.exec(command);
  if (!label) throw new Error(`not played: ${command}`);
  const [, namespace = '', kind = '', group, name = '', key = ''] = label;
  const object = { apiVersion: group ? `${group}/v1` : 'v1', kind, metadata: { namespace, name } };
  const { status, body } = await api.send(
    'PATCH',
    pathOf(object),
    { metadata: { labels: { [key]: null } } },
    'application/merge-patch+json',
  );
  if (status !== 200) throw new Error(`${command}: ${JSON.stringify(body)}`);
}
