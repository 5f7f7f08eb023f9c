/** The kinds Holdfast serves: one row each; schema, names and columns come from here. */
import type * as z from 'zod';
import { alertProviderSpecSchema } from '../alert-provider.ts';
import { canarySpecSchema } from '../canary/canary.ts';
import { canaryStatusSchema } from '../canary/status.ts';
import { metricTemplateSpecSchema } from '../metric-template.ts';
import { sourceSpecSchema, sourceStatusSchema } from '../source/source.ts';

/** A column of `kubectl get`. Priority 1 shows it with `-o wide` only. */
interface PrinterColumn {
  name: string;
  type: 'string' | 'boolean' | 'integer' | 'date';
  jsonPath: string;
  priority?: number;
  description?: string;
}

/** One kind. `specRequired` is false where Flagger's CRD lets an object without spec in. */
export interface KindDefinition {
  kind: string;
  group: string;
  version: string;
  plural: string;
  singular: string;
  description: string;
  spec: z.ZodType;
  status?: z.ZodType;
  specRequired: boolean;
  /** Its objects are parents of ApplySets. */
  isParent?: true;
  columns: readonly PrinterColumn[];
}

const wide = { priority: 1 };

const canary: KindDefinition = {
  kind: 'Canary',
  group: 'flagger.app',
  version: 'v1beta1',
  plural: 'canaries',
  singular: 'canary',
  description: 'How new releases of one workload are tried, promoted, watched and taken back.',
  spec: canarySpecSchema,
  status: canaryStatusSchema,
  specRequired: false,
  // Scripts read Flagger's table by column and search it for words, so that the plain one is Flagger's and no more (flagger-behaviour.md 1).
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Weight', type: 'string', jsonPath: '.status.canaryWeight' },
    { name: 'Suspended', type: 'boolean', jsonPath: '.spec.suspend', ...wide },
    { name: 'FailedChecks', type: 'string', jsonPath: '.status.failedChecks', ...wide },
    { name: 'Interval', type: 'string', jsonPath: '.spec.analysis.interval', ...wide },
    { name: 'Mirror', type: 'boolean', jsonPath: '.spec.analysis.mirror', ...wide },
    { name: 'StepWeight', type: 'string', jsonPath: '.spec.analysis.stepWeight', ...wide },
    { name: 'StepWeights', type: 'string', jsonPath: '.spec.analysis.stepWeights', ...wide },
    { name: 'MaxWeight', type: 'string', jsonPath: '.spec.analysis.maxWeight', ...wide },
    { name: 'LastTransitionTime', type: 'string', jsonPath: '.status.lastTransitionTime' },
    {
      name: 'Serving',
      type: 'string',
      jsonPath: '.status.serving[0].subject',
      description: 'Subject of the commit that answers the largest share of the requests.',
      ...wide,
    },
    {
      name: 'Head',
      type: 'string',
      jsonPath: '.status.shortCommit',
      description: 'Commit of the newest release that was started or rejected.',
      ...wide,
    },
    { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason', ...wide },
    { name: 'Next', type: 'string', jsonPath: '.status.next.action', ...wide },
  ],
};

const source: KindDefinition = {
  kind: 'Source',
  group: 'holdfast.dev',
  version: 'v1alpha1',
  plural: 'sources',
  singular: 'source',
  description: 'One Git repository, ref and path to keep applied.',
  spec: sourceSpecSchema,
  status: sourceStatusSchema,
  specRequired: true,
  isParent: true,
  columns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: 'Commit', type: 'string', jsonPath: '.status.shortCommit' },
    { name: 'Canaries', type: 'integer', jsonPath: '.status.counts.canaries' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Head', type: 'string', jsonPath: '.status.head.subject', ...wide },
    { name: 'Suspended', type: 'boolean', jsonPath: '.spec.suspend', ...wide },
    { name: 'URL', type: 'string', jsonPath: '.spec.url', ...wide },
  ],
};

const metricTemplate: KindDefinition = {
  kind: 'MetricTemplate',
  group: 'flagger.app',
  version: 'v1beta1',
  plural: 'metrictemplates',
  singular: 'metrictemplate',
  description: 'A metric query with its provider, shared by Canaries.',
  spec: metricTemplateSpecSchema,
  specRequired: false,
  columns: [{ name: 'Provider', type: 'string', jsonPath: '.spec.provider.type' }],
};

const alertProvider: KindDefinition = {
  kind: 'AlertProvider',
  group: 'flagger.app',
  version: 'v1beta1',
  plural: 'alertproviders',
  singular: 'alertprovider',
  description: 'A chat channel that gets alerts.',
  spec: alertProviderSpecSchema,
  specRequired: false,
  columns: [{ name: 'Type', type: 'string', jsonPath: '.spec.type' }],
};

/** Every kind of ours by name. */
export const kinds = {
  Canary: canary,
  Source: source,
  MetricTemplate: metricTemplate,
  AlertProvider: alertProvider,
};

export type KindName = keyof typeof kinds;

/** The names in the order they are installed and documented. */
export const kindNames = Object.keys(kinds) as readonly KindName[];

/** `group/version` of a kind. */
export function apiVersionOf(name: KindName): string {
  return `${kinds[name].group}/${kinds[name].version}`;
}
