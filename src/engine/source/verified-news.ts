import type { Source } from '../../api/source.ts';
import type { ConditionNews } from '../conditions.ts';
import type { SourceState } from './source-parts.ts';

/** Condition Verified: who signed head, or why its signature does not count; none where no signature is asked for. */
export function verifiedNews(
  { spec }: Source,
  { head, problem, signer }: Pick<SourceState, 'head' | 'problem' | 'signer'>,
): Omit<ConditionNews, 'type'> | undefined {
  if (!spec.verify) return undefined;
  if (problem?.reason === 'NotVerified' || problem?.reason === 'SignersUnusable')
    return { status: 'False', reason: problem.reason, message: problem.message };
  if (!head || signer === undefined)
    return { status: 'Unknown', reason: 'NotRead', message: 'no signature was looked at yet' };
  return { status: 'True', reason: 'Verified', message: `${head.commit.slice(0, 7)} is signed by ${signer}` };
}
