/** Paths of the programs that `scripts/bed-build.mjs` built or found; `crds` and `routeCrds` are folders of YAML files. */
export interface Tools {
  readonly app: string;
  readonly contour: string;
  readonly crds: string;
  readonly envoy: string;
  readonly etcd: string;
  /** Folders of programs for single suites; they may still be under construction (`untilBuilt`). */
  readonly flagger: string;
  readonly gitea: string;
  readonly 'kube-apiserver': string;
  readonly 'kube-controller-manager': string;
  readonly 'kube-scheduler': string;
  readonly kubectl: string;
  readonly prometheus: string;
  readonly promtool: string;
  /** CRDs of routing providers that the bed does not run. */
  readonly routeCrds: string;
  /** As flagger and gitea. */
  readonly istio: string;
  readonly knative: string;
  readonly traefik: string;
}

/** The programs as `scripts/bed-run.mjs` hands them over. Throws outside it: only it makes the network namespace. */
export function toolsFromEnvironment(): Tools {
  const tools = process.env.HOLDFAST_BED_TOOLS;
  if (!tools) {
    throw new Error(
      'the test bed needs its own network namespace: run `node scripts/bed-run.mjs npx vitest run --project cluster`',
    );
  }
  return JSON.parse(tools) as Tools;
}
