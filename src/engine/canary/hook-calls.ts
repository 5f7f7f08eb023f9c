import type { Canary } from '../../api/canary.ts';
import { type HookAnswer, type HookType, hooksOf, type Webhook } from '../../api/hooks.ts';
import type { CheckRequest } from '../../rollout/action.ts';
import type { Hooks } from '../ports/hooks-port.ts';

/** One request's part that concerns webhooks. */
interface Asked {
  readonly canary: Canary;
  readonly request: Pick<CheckRequest, 'hooks' | 'facts'>;
}

/**
 * Asks the webhooks of a request: types side by side, those of one type in the order of the spec. The first that decides ends its type: one
 * that does not approve, and of the rollback type one that does. Never rejects.
 */
export async function askHooks(hooks: Hooks, asked: Asked, signal: AbortSignal): Promise<HookAnswer[]> {
  const answers = await Promise.all(asked.request.hooks.map((type) => askType(hooks, asked, type, signal)));
  return answers.flat();
}

async function askType(
  hooks: Hooks,
  { canary, request }: Asked,
  type: HookType,
  signal: AbortSignal,
): Promise<HookAnswer[]> {
  const answers: HookAnswer[] = [];
  for (const webhook of hooksOf(canary, type)) {
    if (signal.aborted) break;
    const call = { canary, webhook, type, facts: request.facts };
    const answer = await hooks.call(call, signal).catch((error: unknown) => failed(webhook, type, error));
    answers.push(answer);
    if ((answer.verdict === 'approved') === (type === 'rollback')) break;
  }
  return answers;
}

function failed({ name }: Webhook, type: HookType, error: unknown): HookAnswer {
  const detail = error instanceof Error ? error.message : 'the webhook could not be called';
  return { name, type, verdict: 'unreachable', detail };
}
