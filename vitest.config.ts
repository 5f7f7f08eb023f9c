import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { entries } from './scripts/bundle/entries.mjs';
import { LongestFirst } from './test/longest-first.ts';
import { nodeFlags } from './test/node-flags.ts';

// `unit` and `sandbox` need nothing but Node and git; `programs` needs Go; `cluster` and `bench` run inside the test bed's network namespace.

/** These start processes by the hundred: they run beside the sandbox's, so that `npm run check` stays below a minute. */
const manyProcesses = [
  'sandbox/git-server/upload-pack.test.ts',
  'src/git/poll/{git-source,history}.test.ts',
  'src/git/sign/verifier.test.ts',
  'src/git/store/{compact,files,repository,stores}.test.ts',
  'src/git/store/pack/*.test.ts',
  'src/git/wire/references.test.ts',
  'src/git/write/git-writing.test.ts',
  'src/render/build/process.test.ts',
  'src/server/git.test.ts',
  'test/conformance/sandbox.test.ts',
  'test/hostile/**/*.test.ts',
];

/** The core in every world of a table, in random ones and in those of faults: half a minute of processor time, which `npm run check` does without. */
const simulatedWorlds = [
  'test/explore/*.test.ts',
  'test/rollout/{adoption,advised-requests,git-meanwhile,matrix,moving,native,native-kinds}.test.ts',
  'test/rollout/{packed-status,properties,refused-writes,scalers,services,trouble}.test.ts',
  'test/rollout/faults/*.test.ts',
];

/** Behind the bed, whose logs stay when a test fails. */
const temporaryFolder = 'test/temporary-folder.ts';

/** The second that is usual is over before a busy machine looks twice. */
const waits = { poll: { timeout: 120_000 } };

/** Of the last five minutes, for each processor; the suite of the sandbox makes it 4 to 5, and two of them side by side, with six workers each, 10 to 12. */
const load = (loadavg()[1] ?? 0) / availableParallelism();

/** Where Node runs TypeScript it loads the tests itself: Vite's runner, which makes of each import an object of getters, takes a tenth more. */
const isNative = 'typescript' in process.features && process.features.typescript !== false;
const nativeImports = join(import.meta.dirname, 'test/native-imports.mjs');

/** The packages as the bundle has them. */
const alias = Object.fromEntries(
  Object.entries(entries).map(([name, path]) => [name, join(import.meta.dirname, path)]),
);

export default defineConfig({
  resolve: { alias },
  test: {
    sequence: { sequencer: LongestFirst },
    execArgv: [...nodeFlags, ...(isNative ? ['--import', nativeImports] : [])],
    experimental: isNative ? { viteModuleRunner: false, nodeLoader: false } : {},
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          expect: waits,
          globalSetup: [temporaryFolder],
          setupFiles: ['test/property-seed.ts'],
          include: ['src/**/*.test.ts', 'sandbox/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            ...[
              'test/cluster/**',
              'test/plans/**',
              'test/programs/**',
              'test/sandbox/**',
              '**/node_modules/**',
            ],
            ...manyProcesses,
            ...simulatedWorlds,
          ],
          // Nothing here keeps state in modules; one load of the code serves many files.
          isolate: false,
          maxWorkers: 5,
          // A few seconds at most on a quiet machine; the limit only ends a hang.
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'sandbox',
          expect: waits,
          globalSetup: [temporaryFolder],
          setupFiles: ['test/property-seed.ts'],
          include: ['test/{plans,sandbox}/**/*.test.ts', ...manyProcesses, ...simulatedWorlds],
          // Nothing is kept in modules here either. They wait more than they compute, but for the worlds, which fill the pauses.
          isolate: false,
          maxWorkers: load < 7 ? 8 : 6,
          // A wait that fails says for what, mostly after two minutes of looking.
          testTimeout: 1_800_000,
          hookTimeout: 1_800_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'programs',
          expect: waits,
          include: ['test/programs/**/*.test.ts'],
          // Builds kustomize, helm and sops the first time; needs Go.
          globalSetup: ['test/programs/global-setup.ts', temporaryFolder],
          isolate: false,
          maxWorkers: 5,
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster',
          expect: waits,
          include: ['test/cluster/**/*.test.ts'],
          globalSetup: ['test/cluster/bed/global-setup.ts', temporaryFolder],
          // They wait more than they compute; each test has namespaces and a repository of its own. Beside other work their deadlines would be
          // over before they get the processor.
          isolate: false,
          maxWorkers: load < 7 ? 8 : 3,
          testTimeout: 900_000,
          hookTimeout: 900_000,
          maxConcurrency: 5,
        },
      },
      {
        extends: true,
        test: {
          name: 'bench',
          expect: waits,
          include: ['test/bench/**/*.bench.ts'],
          globalSetup: ['test/cluster/bed/global-setup.ts', temporaryFolder],
          fileParallelism: false,
          testTimeout: 900_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
