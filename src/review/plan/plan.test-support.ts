import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openLocalRepository } from '../../git/store/local-repository.ts';
import { createTestRepository, type TestRepository } from '../../git/testing/test-repository.ts';
import { type Builders, createBuildCache } from '../../render/build/builder.ts';
import { makePlan } from './plan.ts';
import type { SideParts } from './rendered-source.ts';
import type { PlanReport } from './report.ts';
import type { PlanProbes, PlanRequest } from './request.ts';

/** A repository on this machine and plans of it. */
export interface PlanBed {
  readonly repository: {
    git: TestRepository['git'];
    /** Writes files (null removes) and commits; returns the commit id. Nothing is pushed. */
    commit(files: Readonly<Record<string, string | null>>, message?: string): string;
  };
  /** Its working tree. */
  readonly folder: string;
  plan(more?: Partial<PlanRequest>, probes?: PlanProbes, cluster?: SideParts['cluster']): Promise<PlanReport>;
  close(): void;
}

/** Makes it in a temporary folder; `builders`: programs, where a test needs them. */
export function planBed(builders: Builders = { kustomize: undefined, helm: undefined }): PlanBed {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-plan-'));
  const { git } = createTestRepository(root, 'shop');
  const folder = join(root, 'shop');
  const put = (path: string, content: string | null) => {
    if (content === null) return rmSync(path, { recursive: true, force: true });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  };
  return {
    repository: {
      git,
      commit(files, message = 'Change') {
        for (const [path, content] of Object.entries(files)) put(join(folder, path), content);
        git('add', '-A');
        git('commit', '-q', '--allow-empty', '-m', message);
        return readFileSync(join(folder, '.git/refs/heads/main'), 'utf8').trim();
      },
    },
    folder,
    async plan(more = {}, probes = {}, cluster = undefined) {
      const opened = await openLocalRepository(folder);
      const request: PlanRequest = {
        base: 'HEAD^',
        head: 'HEAD',
        sources: [],
        paths: [],
        namespace: 'shop',
        branch: undefined,
        minIntervalMs: 1_000,
        defaultProvider: 'kubernetes',
        repository: opened,
        ...more,
      };
      const signal = new AbortController().signal;
      const parts = { builders, builds: createBuildCache(), secretKey: randomBytes(32), signal, cluster };
      return makePlan(request, parts, probes).finally(() => opened.close());
    },
    close: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** A Source of the repository's folder `apps`. */
export function sourceText(more = ''): string {
  return `apiVersion: holdfast.dev/v1alpha1
kind: Source
metadata: {name: shop, namespace: delivery}
spec:
  url: https://git.example.com/acme/shop.git
  ref: {branch: main}
  path: ./apps
  prune: true
${more}`;
}

/** A Canary on Deployment shop/web. */
export function canaryText(more = ''): string {
  return `apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: web, namespace: shop}
spec:
  provider: contour
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  service: {port: 80}
  analysis:
    interval: 30s
    threshold: 2
    stepWeights: [10, 50]
    metrics:
      - name: request-success-rate
        thresholdRange: {min: 99}
${more}`;
}

/** Deployment shop/web, which reads ConfigMap `settings` whole. */
export function deploymentText(image: string, { replicas = 2, selector = 'web' } = {}): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${selector}}}
  template:
    metadata: {labels: {app: ${selector}}}
    spec:
      containers:
        - name: app
          image: ${image}
          envFrom: [{configMapRef: {name: settings}}]
`;
}

/** A ConfigMap or Secret in namespace shop. */
export function configText(kind: 'ConfigMap' | 'Secret', name: string, data: Record<string, string>): string {
  const field = kind === 'Secret' ? 'stringData' : 'data';
  return JSON.stringify({ apiVersion: 'v1', kind, metadata: { name, namespace: 'shop' }, [field]: data });
}
