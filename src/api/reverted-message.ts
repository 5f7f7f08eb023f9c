/** The message of the condition Reverted: why, and behind it what the revert left as head says (design section 5, Scope). */

/** Between the two; the second part is added when Git was compared. */
export const staysSeparator = '; stays as head says: ';

/** Why it was reverted, without what stays. */
export function whyReverted(message: string): string {
  return message.split(staysSeparator)[0] ?? '';
}
