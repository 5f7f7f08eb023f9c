/** `1 rollout`, `2 rollouts`, `0 rollouts`; for words whose plural ends in `s` alone. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
