import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../api/clock.ts';
import { createHttpClient } from '../../http/client.ts';
import type { HttpClient } from '../../http/types.ts';
import { createGitSource, type GitSourceOptions, type MeasuredGitSource } from '../poll/git-source.ts';
import { createStores, type Stores, type StoresOptions } from '../store/stores.ts';
import { type GitServer, startGitServer } from './git-server.ts';
import { createTestRepository, type TestRepository } from './test-repository.ts';

/** A served repository, a client and a data directory; everything is gone after `close`. */
export interface GitFixture {
  readonly server: GitServer;
  readonly repository: TestRepository;
  readonly url: string;
  readonly dataDir: string;
  readonly client: HttpClient;
  /** A source on the repository; by default branch main and the same data directory. */
  source(options?: Partial<GitSourceOptions>): MeasuredGitSource;
  /** The stores of the data directory, as a restarted process has them. */
  stores(options?: Partial<StoresOptions>): Stores;
  close(): Promise<void>;
}

/** Starts all of it in a new temporary directory. */
export async function createGitFixture(): Promise<GitFixture> {
  const root = await mkdtemp(join(tmpdir(), 'holdfast-git-'));
  const server = await startGitServer(root);
  const client = createHttpClient({ allowLoopback: true });
  const url = `${server.url}/shop.git`;
  const dataDir = join(root, 'data');
  const stores = (options: Partial<StoresOptions> = {}) =>
    createStores({ dataDir, clock: systemClock, ...options });
  return {
    server,
    client,
    url,
    dataDir,
    repository: createTestRepository(root, 'shop'),
    source: (options) =>
      createGitSource({
        namespace: 'delivery',
        name: 'shop',
        url,
        reference: { branch: 'main' },
        stores: stores(),
        client,
        ...options,
      }),
    stores,
    async close() {
      await client.close();
      await server.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}
