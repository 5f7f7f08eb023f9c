/** Writes of one Source that run side by side. */
const parallelWrites = 4;

/** Does the work for all items, a few at a time, in their order. Rejects with the first error; the others go on. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: parallelWrites }, worker));
}
