/** Bytes that compression cannot shrink, so that a snapshot is visible in the traffic. */
export function noise(seed: number, length: number): string {
  let state = seed + 1;
  let text = '';
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += state.toString(36);
  }
  return text;
}
