/** Answers that are kept for a while. */
interface Memory<T> {
  /**
   * The answer, asked anew when it is older than `freshMs`. Where asking fails, one that is at most `oldestMs` old; without one, throws what asking
   * did. One question for all who ask meanwhile.
   */
  of(key: string, age: { freshMs: number; oldestMs: number }, ask: () => Promise<T>): Promise<T>;
}

interface Entry<T> {
  readonly answer: T;
  readonly atMs: number;
}

/** Keeps at most so many; the one that was asked longest ago goes first. */
export function createMemory<T>(nowMs: () => number, maximum: number): Memory<T> {
  const known = new Map<string, Entry<T>>();
  const underWay = new Map<string, Promise<T>>();

  function keep(key: string, answer: T): void {
    // Made-up tokens must not push out those of people.
    if (answer === undefined) return;
    known.delete(key);
    known.set(key, { answer, atMs: nowMs() });
    if (known.size > maximum) known.delete(known.keys().next().value ?? '');
  }

  function askOnce(key: string, ask: () => Promise<T>): Promise<T> {
    const running = underWay.get(key);
    if (running) return running;
    const asking = ask()
      .then((answer) => {
        keep(key, answer);
        return answer;
      })
      .finally(() => underWay.delete(key));
    underWay.set(key, asking);
    return asking;
  }

  return {
    async of(key, { freshMs, oldestMs }, ask) {
      const before = known.get(key);
      if (before && nowMs() - before.atMs < freshMs) return before.answer;
      try {
        return await askOnce(key, ask);
      } catch (error) {
        if (before && nowMs() - before.atMs < oldestMs) return before.answer;
        throw error;
      }
    },
  };
}
