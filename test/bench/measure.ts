import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { basename } from 'node:path';
import type { BedClient } from '../cluster/bed/client.ts';

/** Milliseconds of CPU a process has used since it started, user and system. Linux: 100 ticks a second. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Resident memory of a process in MiB. */
export function rssMib(pid: number): number {
  return memoryMib(pid, 'VmRSS');
}

/** The most that its resident memory ever was, in MiB. */
export function peakRssMib(pid: number): number {
  return memoryMib(pid, 'VmHWM');
}

function memoryMib(pid: number, field: string): number {
  const match = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round((Number(match?.[1]) / 1024) * 10) / 10;
}

/** Process id of the one program of this name that runs in the bed. Throws when there is none. */
export function processNamed(name: string): number {
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const [program = ''] = commandOf(pid);
    if (basename(program) === name) return Number(pid);
  }
  throw new Error(`no process ${name} runs`);
}

function commandOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // It ended meanwhile.
    return [];
  }
}

/** The machine's load over the last minute, to be told beside every figure. */
export function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}

/** The API server's own request counters by verb and resource; watches count when they are opened. */
export async function requestCounters(bed: BedClient): Promise<Map<string, number>> {
  const text = await bed.kubectl(['get', '--raw', '/metrics']);
  const counters = new Map<string, number>();
  for (const [, labels = '', value] of text.matchAll(/^apiserver_request_total\{([^}]*)\} (\S+)$/gm)) {
    const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const key = `${label('verb')} ${label('resource')}${label('subresource') ? `/${label('subresource')}` : ''}`;
    counters.set(key, (counters.get(key) ?? 0) + Number(value));
  }
  return counters;
}

/** What grew between two looks, largest first. */
export function growth(before: Map<string, number>, after: Map<string, number>): Array<[string, number]> {
  return [...after]
    .map(([key, value]): [string, number] => [key, value - (before.get(key) ?? 0)])
    .filter(([, value]) => value > 0)
    .sort((a, b) => b[1] - a[1]);
}

/** `min / median / max` of samples. */
export function spread(samples: readonly number[]): string {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (index: number) => sorted[index]?.toFixed(0) ?? '-';
  return `${at(0)} / ${at(Math.floor(sorted.length / 2))} / ${at(sorted.length - 1)}`;
}

/** Lines of a result, on the terminal as they are. */
export function report(title: string, lines: readonly string[]): void {
  process.stdout.write(`\n### ${title}\n${lines.map((line) => `${line}\n`).join('')}`);
}

/** Sum of a metric's series, read from where a program serves them; 0 where there is none. */
export async function metricOf(url: string, name: string): Promise<number> {
  const text = await fetch(`${url}/metrics`).then((response) => response.text());
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}
