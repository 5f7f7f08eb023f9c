import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { conformance } from './suite.ts';
import { httpTarget } from './target.ts';

let sandbox: Sandbox | undefined;

conformance(
  'The sandbox',
  async () => {
    const started = await startSandbox();
    sandbox = started;
    const target = httpTarget({ baseUrl: started.url });
    return {
      ...target,
      async close() {
        await target.close();
        await started.close();
      },
    };
  },
  {
    streamsInitialState: true,
    async forgottenVersion() {
      const version = String(sandbox?.store.version());
      sandbox?.expireHistory();
      return version;
    },
    // The sandbox accepts routes for any Gateway.
    gateway: async () => ({ name: 'gateway', namespace: 'default' }),
  },
);
