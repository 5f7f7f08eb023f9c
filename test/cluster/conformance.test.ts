import { inject } from 'vitest';
import { conformance } from '../conformance/suite.ts';
import { httpTarget } from '../conformance/target.ts';

conformance(
  'A real API server with its controllers',
  async () => {
    const { apiServer, adminToken, ca } = inject('bed');
    return httpTarget({ baseUrl: apiServer, token: adminToken, ca });
  },
  {
    // The server's memory of a kind begins when the kind does.
    forgottenVersion: async () => '1',
    streamsInitialState: !process.env.HOLDFAST_BED_KUBERNETES,
    gateway: async () => inject('bed').gateway,
  },
);
