import { afterAll, beforeAll, test } from 'vitest';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { keepsSides, sessionsOf } from './sessions.ts';
import { openRunningShop } from './shop.ts';

const bed: BedClient = useBed();

let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHookServer();
});

afterAll(() => hooks.close());

test('users stay on the side that answered them first, and lose the cookie when the release has ended', async () => {
  const shop = await openRunningShop(bed, 'by-session', { analysis: sessionsOf(hooks, 'by-session') });
  await keepsSides(shop, hooks, bed.envoyUrl);
  await shop.close();
});
