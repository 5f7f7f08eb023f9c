/** Source (holdfast.dev/v1alpha1): one Git repository, ref and path to keep applied (design section 2.2), and how its files become objects (ADR 24). */
import * as z from 'zod';
import { canaryAlertSchema } from '../canary/analysis.ts';
import { canonicalJson, type KubernetesObject } from '../kubernetes.ts';
import { limits } from '../limits.ts';
import {
  conditionsSchema,
  duration,
  nameReference,
  oneOf,
  requestFields,
  text,
  timestamp,
} from '../schema.ts';
import { durationOr, parseDurationMs } from '../time.ts';

const releaseName = text(53).regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
const namespaceName = text(63).regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

/** What a chart is rendered with. */
const sourceHelmSchema = z.object({
  releaseName: releaseName
    .describe('Name of the release that templates see. Default: the name of the Source.')
    .optional(),
  namespace: namespaceName
    .describe(
      'Namespace of the release, and of objects that name none. Default: defaultNamespace, else that of the Source.',
    )
    .optional(),
  valuesFiles: z
    .array(text(1024).min(1))
    .max(50)
    .describe(
      'Files of values in the repository, relative to path; a later one wins over an earlier one, and both over values.yaml of the chart.',
    )
    .optional(),
  values: z.record(z.string(), z.unknown()).describe('Values that win over those of all files.').optional(),
  skipHooks: z
    .boolean()
    .describe(
      'Leaves out the hooks of the chart, which are never run. Default false: a chart with hooks other than tests is refused.',
    )
    .optional(),
});

export type SourceHelm = z.infer<typeof sourceHelmSchema>;

const variableName = /^[_A-Za-z][_A-Za-z0-9]*$/;

/** Variables that are filled into what was rendered, in Flux's manner. */
const sourceSubstituteSchema = z.object({
  variables: z
    .record(text(256).regex(variableName), text(65_536))
    .describe('Values by name; they win over those of from.')
    .optional(),
  from: z
    .array(
      z.object({
        kind: z.enum(['ConfigMap', 'Secret']).describe('What holds the values.'),
        name: text(253).min(1).describe('Its name, in the namespace of the Source; each key is a variable.'),
        optional: z.boolean().describe('Whether it may be missing. Default false.').optional(),
      }),
    )
    .max(50)
    .describe('ConfigMaps and Secrets with values; a later one wins over an earlier one.')
    .optional(),
  strict: z
    .boolean()
    .describe('Refuses a variable that is not set and has no default. Default false: it is empty.')
    .optional(),
});

/** How encrypted files are opened. */
const sourceDecryptionSchema = z.object({
  secretRef: nameReference().describe('Secret with age keys, under names that end in .agekey.'),
});

/** What happens when the ref moves to a commit that is no descendant of the applied one. */
const rewritePolicySchema = z.enum(['wait', 'allow']);

/** Exactly one of branch, tag, semver and commit. */
const sourceRefSchema = oneOf(
  z.object({
    branch: text(255).min(1).describe('Branch to follow.').optional(),
    tag: text(255).min(1).describe('Tag to follow.').optional(),
    semver: text(255).min(1).describe('Range of versions; the highest tag in it is followed.').optional(),
    commit: text(64)
      .regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/)
      .describe('Full SHA to stay at.')
      .optional(),
    rewrite: rewritePolicySchema
      .describe(
        'When history was rewritten. wait: an approval is needed unless the new head is a proven release; allow: follow it, and start from a ledger that head does not descend from. Default wait.',
      )
      .optional(),
  }),
  'exactlyOne',
  [['branch'], ['tag'], ['semver'], ['commit']],
);

/** A span of time that repeats; it gates the start of rollouts. */
export const windowSchema = z.object({
  kind: z.enum(['allow', 'deny']).describe('allow: rollouts start only inside; deny: only outside.'),
  schedule: text(128)
    .regex(/^(@[a-z]+|[^ ]+( +[^ ]+){4,5})$/)
    .describe('Cron expression of the beginning, five or six fields.'),
  duration: duration().describe('Length of the window, as 9h or 1h30m.'),
  timeZone: text(64)
    .regex(/^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/)
    .describe('IANA time zone, as Europe/Oslo. Default UTC.')
    .optional(),
});

/** What is wrong with the length of a window: one that is too long to be read would be over at once. */
export function lengthProblem(duration: string): string | undefined {
  const lengthMs = parseDurationMs(duration);
  if (lengthMs === undefined) return 'must be shorter than 292 years';
  return lengthMs > 0 ? undefined : 'must be longer than 0';
}

/** What may be written to Git. Everything is off by default. */
const sourceWriteSchema = z.object({
  ledger: z
    .boolean()
    .describe('Keeps a ref on the last promoted commit of each Canary. Default false.')
    .optional(),
  revert: z
    .enum(['none', 'pullRequest', 'commit'])
    .describe('How a revert is written to Git. Default none.')
    .optional(),
  status: z.boolean().describe('Sets commit statuses at the forge. Default false.').optional(),
});

const fields = z.object({
  url: text(2048)
    .regex(/^(https?|ssh|git\+ssh|ssh\+git):\/\/|^[^/@:]+@[^/@:]+:/)
    .describe(
      'Address of the repository: http(s)://host/path, ssh://user@host:port/path or user@host:path, without credentials.',
    ),
  ref: sourceRefSchema.describe('What to follow.'),
  path: text(1024).describe('Folder in the repository. Default: its root.').optional(),
  interval: duration().describe('Time between two polls. At least 1s. Default 30s.').optional(),
  schedule: text(128).describe('Cron expression of the polls, in place of interval.').optional(),
  timeZone: text(64).describe('IANA time zone of schedule. Default UTC.').optional(),
  timeout: duration()
    .describe('Longest time of one sync, and with wait until the objects are healthy. Default 60s.')
    .optional(),
  retryInterval: duration()
    .describe(
      'Time until a failed sync is tried again. Default: 5s, doubled with each failure up to 1m, or up to interval where that is longer.',
    )
    .optional(),
  secretRef: nameReference()
    .describe(
      'Secret with username and password, bearerToken, or githubAppID, githubAppInstallationID and githubAppPrivateKey; ca.crt, tls.crt and tls.key; for SSH identity, known_hosts and password, the passphrase; webhookSecret, signingKey.',
    )
    .optional(),
  proxySecretRef: nameReference()
    .describe(
      'Secret with the address of an HTTP proxy to reach Git through, and username and password for it.',
    )
    .optional(),
  verify: z
    .object({
      mode: z
        .enum(['HEAD', 'Tag', 'TagAndHEAD'])
        .describe('Which signatures are checked. Default HEAD.')
        .optional(),
      secretRef: nameReference().describe('Secret with allowed signers and PGP keys.'),
    })
    .describe('Applies only what is signed by a known key.')
    .optional(),
  renderer: z
    .enum(['auto', 'plain', 'kustomize', 'helm'])
    .describe(
      'How files become objects. Default auto: kustomize where a kustomization.yaml is, helm where a Chart.yaml is, else plain.',
    )
    .optional(),
  helm: sourceHelmSchema.describe('What the chart is rendered with, where helm renders.').optional(),
  decryption: sourceDecryptionSchema.describe('Opens files that are encrypted with SOPS.').optional(),
  substitute: sourceSubstituteSchema
    .describe('Variables that are filled into the objects: ${name}, ${name:=default}.')
    .optional(),
  apply: z
    .boolean()
    .describe(
      'false: only the releases of Canaries are rolled out from it; another tool applies everything else. Default true.',
    )
    .optional(),
  prune: z
    .boolean()
    .describe('Deletes objects that were removed from the repository, with safeguards. Default false.')
    .optional(),
  force: z
    .boolean()
    .describe('Re-creates an object whose immutable fields changed. Default false.')
    .optional(),
  wait: z.boolean().describe('Is Ready only when every applied object is healthy. Default false.').optional(),
  ignore: z.array(text(512)).max(200).describe('Paths to leave out, in the syntax of .gitignore.').optional(),
  defaultNamespace: namespaceName.describe('Namespace of objects that name none.').optional(),
  serviceAccountName: text(253)
    .describe(
      'ServiceAccount of its namespace that it is read and written as. Default: holdfast-source, which has the role edit there.',
    )
    .optional(),
  allow: z
    .object({
      namespaces: z
        .array(namespaceName)
        .max(200)
        .describe('Namespaces it may write to, as far as its account may. Default: all but kube-system.')
        .optional(),
      kinds: z
        .array(text(128))
        .max(200)
        .describe('Kinds it may write, as Deployment or Deployment.apps. Default: all.')
        .optional(),
    })
    .describe('What this Source may write.')
    .optional(),
  windows: z
    .array(windowSchema)
    .max(50)
    .describe('When rollouts may start. A started rollout is finished.')
    .optional(),
  write: sourceWriteSchema.describe('What may be written to Git.').optional(),
  alerts: z.array(canaryAlertSchema).max(20).describe('Where reports about this Source are sent.').optional(),
  dependsOn: z
    .array(
      z.object({
        name: text(253).describe('Name of the other Source.'),
        namespace: namespaceName.describe('Its namespace. Default: the same.').optional(),
      }),
    )
    .max(50)
    .describe('Sources that must be Ready first.')
    .optional(),
  suspend: z
    .boolean()
    .describe('Stops polling and applying; rollouts under way go on. Default false.')
    .optional(),
});

export const sourceSpecSchema = oneOf(fields, 'atMostOne', [['interval'], ['schedule']]);

export type SourceRef = z.infer<typeof sourceRefSchema>;
export type SourceWindow = z.infer<typeof windowSchema>;
export type SourceWrite = z.infer<typeof sourceWriteSchema>;
export type SourceSpec = z.infer<typeof sourceSpecSchema>;

/** A Source as the API server stores it, or as a file gives it. */
export interface Source extends KubernetesObject {
  apiVersion: 'holdfast.dev/v1alpha1';
  kind: 'Source';
  spec: SourceSpec;
  status?: SourceStatus;
}

/** Milliseconds between two polls: 30 s if absent, at least one second. */
export function sourceIntervalMs({ spec }: Source): number {
  return Math.max(limits.minSourceIntervalMs, durationOr(spec.interval, 30_000));
}

/** Address and ref of a Source, to be compared with those of others: what becomes of a rewritten history makes no other ref. */
export function polledRef({ url, ref }: Partial<Pick<Source['spec'], 'url' | 'ref'>>): string {
  const { rewrite: _, ...polled } = ref ?? {};
  return canonicalJson({ url, polled });
}

/** Milliseconds that one sync may take: 60 s if absent. A whole number that timers can wait, which is up to 24 days. */
export function sourceTimeoutMs({ spec }: Source): number {
  return Math.min(2 ** 31 - 1, Math.ceil(durationOr(spec.timeout, 60_000)));
}

/** Milliseconds until a failed sync is tried again: the poll interval if absent. */
export function sourceRetryIntervalMs(source: Source): number {
  return Math.max(
    limits.minSourceIntervalMs,
    durationOr(source.spec.retryInterval, sourceIntervalMs(source)),
  );
}

// Source status (design section 2.2): written when something changed, not at each poll.

/** The newest commit that was seen. */
const sourceHeadSchema = z.object({
  commit: text(64).describe('Full SHA.'),
  author: text(160).describe('Name of the author.').optional(),
  subject: text(160).describe("First line of the commit's message.").optional(),
  time: timestamp().describe('When it was committed.').optional(),
});

const count = z.int().min(0);

const sourceCountsSchema = z.object({
  objects: count.describe('Objects rendered.').optional(),
  applied: count.describe('Objects applied.').optional(),
  failed: count.describe('Objects refused by the API server.').optional(),
  pruned: count.describe('Objects deleted by the last prune.').optional(),
  canaries: count.describe('Canaries among them.').optional(),
});

export const sourceStatusSchema = z.object({
  observedGeneration: z.int().describe('Generation this status was computed from.').optional(),
  conditions: conditionsSchema.describe('Ready, Fetched, Rendered, Applied, Healthy and others.').optional(),
  head: sourceHeadSchema.describe('The newest commit seen.').optional(),
  appliedCommit: text(64)
    .describe('The last commit whose objects were all applied or handed over.')
    .optional(),
  shortCommit: text(7).describe("First seven characters of appliedCommit, for kubectl's columns.").optional(),
  attemptedCommit: text(64)
    .describe(
      'The last commit that was let in, whether or not all of it could be applied. History must lead on from it.',
    )
    .optional(),
  appliedTime: timestamp().describe('When that was done.').optional(),
  counts: sourceCountsSchema.describe('Number of objects by result.').optional(),
  ...requestFields,
  approval: z
    .object({
      request: text(512).describe('Value of the annotation holdfast.dev/approve.'),
      verb: z.enum(['rewrite', 'prune']).describe('Which kind of thing it approves.'),
      hash: text(64).describe(
        'What of that kind: a commit, empty once that is followed, or the hash of the objects that are still to be deleted.',
      ),
    })
    .describe('What the last approval opened, and nothing else.')
    .optional(),
  problem: z
    .object({
      reason: text(64).describe('Reason of the condition Ready then.'),
      time: timestamp().describe('Since when.'),
    })
    .describe('The problem that spec.alerts reported last and that is not over.')
    .optional(),
  message: text(160).describe('What is going on, why, and what you can do.').optional(),
});

export type SourceStatus = z.infer<typeof sourceStatusSchema>;
