/** Checks of webhooks: each must have an address that can be called, and a moment at which it is called. */

import { limits } from '../limits.ts';
import type { Findings } from '../problems.ts';
import { parseDurationMs } from '../time.ts';
import type { HookType } from './analysis.ts';
import { analysisIntervalMs, type Canary, hooksOf, type Webhook, webhookTimeoutMs } from './canary.ts';

/** Adds what is wrong with the webhooks of both lists. */
export function checkWebhooks(canary: Canary, found: Findings): void {
  const { analysis, postPromotion } = canary.spec;
  const lists: ReadonlyArray<readonly [string, readonly Webhook[]]> = [
    ['spec.analysis.webhooks', analysis?.webhooks ?? []],
    ['spec.postPromotion.webhooks', postPromotion?.webhooks ?? []],
  ];
  for (const [list, webhooks] of lists) {
    webhooks.forEach((webhook, index) => {
      const path = `${list}[${index}]`;
      checkCall(webhook, path, found);
      if (!list.startsWith('spec.analysis')) return;
      const why = neverCalled(canary, typeOf(webhook));
      if (why)
        found.warnings.push({ path: `${path}.type`, message: `${typeOf(webhook)} is never called: ${why}` });
    });
    checkNames(webhooks, list, found);
  }
  checkDeadlines(canary, found);
  // Webhooks of type rollout are called one after another at every check.
  const totalMs = hooksOf(canary, 'rollout').reduce((sum, { timeout }) => sum + webhookTimeoutMs(timeout), 0);
  if (totalMs > analysisIntervalMs(canary, 0))
    found.warnings.push({
      path: 'spec.analysis.webhooks',
      message: `those of type rollout may take ${totalMs / 1000}s, longer than the interval: checks may come later`,
    });
}

function checkCall({ url, timeout, retries }: Webhook, path: string, found: Findings): void {
  const problem = urlProblem(url);
  if (problem) found.problems.push({ path: `${path}.url`, message: problem });
  if (retries !== undefined && !Number.isInteger(retries))
    found.problems.push({ path: `${path}.retries`, message: 'must be a whole number' });
  else if (retries !== undefined && retries < 0)
    found.warnings.push({ path: `${path}.retries`, message: 'is below 0; the call is made once' });
  else if (retries !== undefined && retries > limits.hookRetries)
    found.warnings.push({
      path: `${path}.retries`,
      message: `is above what is made; ${limits.hookRetries} retries are made`,
    });
  const timeoutMs = timeout === undefined ? undefined : parseDurationMs(timeout);
  if (timeout !== undefined && timeoutMs === undefined)
    found.warnings.push({ path: `${path}.timeout`, message: 'cannot be read as a duration; 10s is used' });
  else if (timeoutMs === 0)
    found.warnings.push({ path: `${path}.timeout`, message: 'is 0, which means no limit; 1h is used' });
  else if (webhookTimeoutMs(timeout) > limits.hookTimeoutMs)
    found.warnings.push({ path: `${path}.timeout`, message: 'is above the longest timeout; 1h is used' });
}

function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    return 'is not an http:// or https:// URL';
  const { username, password } = new URL(text);
  if (username || password) return 'holds credentials, which everybody who may read the Canary would see';
  return undefined;
}

/** Names identify answers in events and in status.checks, so they must differ. */
function checkNames(webhooks: readonly Webhook[], list: string, found: Findings): void {
  webhooks.forEach((webhook, index) => {
    const before = webhooks.findIndex(
      (other) => other.name === webhook.name && typeOf(other) === typeOf(webhook),
    );
    if (before < index)
      found.warnings.push({
        path: `${list}[${index}].name`,
        message: `is the name of another webhook of type ${typeOf(webhook)}`,
      });
  });
}

/** Why a type is not called under this strategy, as in Flagger; undefined when it is. */
function neverCalled({ spec }: Canary, type: HookType): string | undefined {
  const skipped: readonly HookType[] = [
    'pre-rollout',
    'rollout',
    'confirm-traffic-increase',
    'confirm-promotion',
  ];
  if (spec.skipAnalysis && skipped.includes(type)) return 'spec.skipAnalysis leaves the analysis out';
  const hasSteps = spec.analysis.iterations === undefined && spec.provider !== 'kubernetes';
  if (type === 'confirm-traffic-increase' && !hasSteps) return 'the weight does not rise by steps';
  return undefined;
}

function checkDeadlines({ spec }: Canary, found: Findings): void {
  spec.analysis.webhooks?.forEach((webhook, index) => {
    const path = `spec.analysis.webhooks[${index}].deadline`;
    if (webhook.deadline === undefined) return;
    if (!typeOf(webhook).startsWith('confirm-'))
      found.problems.push({
        path,
        message: `applies to gates only, and type ${typeOf(webhook)} is not a gate`,
      });
    else if (parseDurationMs(webhook.deadline) === 0)
      found.problems.push({ path, message: 'is 0: the gate would fail every release' });
  });
}

function typeOf({ type }: Webhook): HookType {
  return (type || 'rollout') as HookType;
}
