import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest go first: a run that starts one of them last waits for it alone. */
const longest = [
  // On the bed those that wait are beside those that compute: six that wait would leave the processor to nobody.
  'test/cluster/install.test.ts',
  'test/cluster/examples.test.ts',
  'test/cluster/scenarios/native.test.ts',
  'test/cluster/scenarios/shares.test.ts',
  'test/cluster/conformance.test.ts',
  'test/cluster/faults/faults.test.ts',
  'test/cluster/scenarios/late-gateway.test.ts',
  'test/cluster/scenarios/knative.test.ts',
  'test/cluster/scenarios/scalers.test.ts',
  'test/cluster/scenarios/traefik.test.ts',
  'test/cluster/demo.test.ts',
  'test/cluster/scenarios/istio.test.ts',
  'test/cluster/scenarios/providers.test.ts',
  'test/cluster/scenarios/half-broken.test.ts',
  'test/cluster/scenarios/causes.test.ts',
  'test/cluster/scenarios/main-job.test.ts',
  'test/cluster/scenarios/daemon-sets.test.ts',
  'test/cluster/scenarios/failed-promotion.test.ts',
  'test/cluster/scenarios/flagger.test.ts',
  'test/cluster/scenarios/killed.test.ts',
  'test/cluster/scenarios/journeys.test.ts',
  'test/cluster/scenarios/services.test.ts',
  'test/cluster/scenarios/gitea.test.ts',
  'test/cluster/gitea.test.ts',
  'test/cluster/compare.test.ts',
  'test/cluster/scenarios/events.test.ts',
  'test/cluster/scenarios/adoption.test.ts',
  'test/cluster/scenarios/sessions.test.ts',
  'test/cluster/scenarios/foreign-writers.test.ts',
  'test/cluster/scenarios/moving.test.ts',
  'test/cluster/scenarios/standby.test.ts',
  'test/cluster/guides.test.ts',
  // These wait more than they compute: one of them at the end of a run would leave the processor to nobody.
  'test/sandbox/upgrade.test.ts',
  'test/sandbox/standby.test.ts',
  'test/sandbox/demo.test.ts',
  'test/sandbox/routing.test.ts',
  'test/sandbox/scenarios/failed-promotion.test.ts',
  'test/sandbox/scenarios/decisions.test.ts',
  'test/sandbox/matrix.test.ts',
  'test/plans/plans.test.ts',
  'test/sandbox/bad-commits.test.ts',
  'test/sandbox/moving.test.ts',
  'test/sandbox/native.test.ts',
  'test/sandbox/flagger-scripts.test.ts',
  'test/sandbox/scenarios/causes.test.ts',
  'test/sandbox/scenarios/half-broken.test.ts',
  'test/sandbox/scenarios/webhooks.test.ts',
  'test/sandbox/records.test.ts',
  'test/sandbox/scalers.test.ts',
  'test/sandbox/knative.test.ts',
  'test/sandbox/webhooks.test.ts',
  'test/sandbox/deletion.test.ts',
  'test/sandbox/requests.test.ts',
  'test/sandbox/lanes.test.ts',
  'test/sandbox/unanswered.test.ts',
  'test/sandbox/alerts.test.ts',
  'test/hostile/git.test.ts',
  'test/sandbox/program.test.ts',
  'test/sandbox/git-meanwhile.test.ts',
  'test/sandbox/flagger-acts.test.ts',
  'src/render/build/process.test.ts',
  'test/sandbox/paused-leader.test.ts',
  'test/sandbox/web-floods.test.ts',
  'test/programs/release.test.ts',
  'test/programs/bulk-guide.test.ts',
  'test/programs/guides.test.ts',
  'test/programs/ssh.test.ts',
  'test/programs/sources.test.ts',
  'test/programs/dashboard.test.ts',
  'test/programs/ssh-sources.test.ts',
  'test/programs/completion.test.ts',
  'test/sandbox/config.test.ts',
  'test/conformance/sandbox.test.ts',
  'src/cluster/election/election.test.ts',
  'test/rollout/matrix.test.ts',
  'test/rollout/properties.test.ts',
  'test/explore/explore.test.ts',
  'test/rollout/git-meanwhile.test.ts',
  'test/rollout/trouble.test.ts',
];

/** Starts the longest files first, then all others in the usual order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files);
    return usual.sort((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const at = longest.findIndex((path) => moduleId.endsWith(path));
  return at < 0 ? longest.length : at;
}
