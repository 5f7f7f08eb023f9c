import { execFile } from 'node:child_process';
import { localError } from './errors.ts';

/** What a credential plug-in gave (client.authentication.k8s.io). Holds secrets. */
export interface ExecCredential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  /** When to ask again, milliseconds since the epoch; absent: keep it until it is refused. */
  readonly expiresAtMs?: number;
}

const timeoutMs = 60_000;
const maximumOutputBytes = 1024 * 1024;

interface ExecEntry {
  readonly apiVersion?: unknown;
  readonly command?: unknown;
  readonly args?: unknown;
  readonly env?: unknown;
}

/** Runs the kubeconfig's exec plug-in. The program gets the whole environment, as with kubectl; its output never enters a message. */
export async function runExecPlugin(entry: ExecEntry): Promise<ExecCredential> {
  if (typeof entry.command !== 'string' || entry.command === '') {
    throw localError('configuration', 'kubeconfig: users[].user.exec.command is missing');
  }
  const apiVersion =
    typeof entry.apiVersion === 'string' ? entry.apiVersion : 'client.authentication.k8s.io/v1';
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } });
  const env = { ...process.env, ...environmentOf(entry.env), KUBERNETES_EXEC_INFO: info };
  const args = Array.isArray(entry.args) ? entry.args.map(String) : [];
  return readCredential(entry.command, await run(entry.command, args, env));
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    // One that does not end on request must not hold up whoever waits for its answer.
    const limits = {
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: maximumOutputBytes,
    } as const;
    execFile(command, args, { env, ...limits }, (error, stdout) => {
      if (!error) return resolve(stdout);
      const why = error.killed
        ? `no answer within ${timeoutMs / 1000} s`
        : `failed (${error.code ?? 'unknown'})`;
      reject(
        localError(
          'configuration',
          `credential plug-in ${command}: ${why}; run it by hand to see its message`,
        ),
      );
    });
  });
}

function readCredential(command: string, output: string): ExecCredential {
  const status = statusOf(output);
  const token = stringField(status, 'token');
  const cert = stringField(status, 'clientCertificateData');
  const key = stringField(status, 'clientKeyData');
  const expires = Date.parse(stringField(status, 'expirationTimestamp') ?? '');
  if (token === undefined && (cert === undefined || key === undefined)) {
    throw localError(
      'configuration',
      `credential plug-in ${command}: gave neither a token nor a client certificate with key`,
    );
  }
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(Number.isFinite(expires) ? { expiresAtMs: expires } : {}),
  };
}

function statusOf(output: string): Record<string, unknown> {
  try {
    const status = (JSON.parse(output) as { status?: unknown } | null)?.status;
    return typeof status === 'object' && status !== null ? (status as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function stringField(status: Record<string, unknown>, field: string): string | undefined {
  const value = status[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function environmentOf(entries: unknown): Record<string, string> {
  if (!Array.isArray(entries)) return {};
  return Object.fromEntries(entries.map((entry) => [String(entry?.name), String(entry?.value)]));
}
