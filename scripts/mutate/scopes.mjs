// @ts-check
// What is changed, and which tests have to notice.

/**
 * `folders` of src, with a slash at the end; `tests`: folders below the checkout; `timeoutMs` of a single test: what computes is ended by its
 * processor time, what only waits by this. `budgetMs`: processor time of tests that one change may cost.
 * @typedef {{ folders: string[], tests: string[], timeoutMs: number, budgetMs: number }} Scope
 */

/** @satisfies {Record<string, Scope>} */
export const scopes = {
  core: {
    folders: ['rollout/', 'health/'],
    tests: ['src/health', 'src/rollout', 'test/rollout', 'test/explore'],
    timeoutMs: 3_600_000,
    budgetMs: Number.POSITIVE_INFINITY,
  },
  // The command line and the schemas are left to their golden files.
  all: {
    folders: [
      'cluster/',
      'contracts/',
      'engine/',
      'git/',
      'health/',
      'http/',
      'migrate/',
      'providers/',
      'release/',
      'render/',
      'review/',
      'rollout/',
      'server/',
      'workload/',
    ],
    tests: ['src', 'test/rollout', 'test/explore', 'test/hostile', 'test/sandbox'],
    timeoutMs: 300_000,
    budgetMs: 120_000,
  },
};
