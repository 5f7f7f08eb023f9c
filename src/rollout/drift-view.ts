/** What is not as it was written, in the core's words. */

/** The part of a workload's view that takes the bytes of its release. */
export interface DriftView {
  /** Fields we own were changed by somebody; those of the pod template, whose paths begin with `spec.template`, come first. */
  drift: ForeignChange | undefined;
  /**
   * Pods that the settings of the release ask for, of a primary whose number nobody else owns: no scaler, no other tool that applies the
   * target. Undefined also where Git does not say, and while newer settings are on their way.
   */
  wantedReplicas?: number | undefined;
  /** The primary's copies of ConfigMaps and Secrets that its release needs; empty for the target, and where the release cannot be read. */
  configCopies: readonly ConfigCopyView[];
}

/** What somebody else changed of an object that we write. */
export interface ForeignChange {
  /** The field manager's name; `unknown` where nobody owns the change. */
  manager: string;
  /** A few of the fields that differ. */
  fields: readonly FieldDifference[];
}

/** One field that is not as it was written. Texts are short, for people; nothing secret is in them. */
export interface FieldDifference {
  /** `spec.template.spec.containers[app].image`, `data[app.properties]:12` for a line of a long text. */
  path: string;
  expected: string;
  /** Undefined: the field is not there. */
  actual: string | undefined;
}

/** A promoted ConfigMap or Secret: the primary's own copy (flagger-behaviour 2.10). */
export interface ConfigCopyView {
  kind: 'ConfigMap' | 'Secret';
  name: string;
  /**
   * `otherRelease`: we wrote it, for another release than the primary's. `outdated`: its original outside Git, which it follows, is newer.
   * `foreign`: somebody else changed it.
   */
  state: 'asWritten' | 'missing' | 'otherRelease' | 'outdated' | 'foreign';
  /** What differs, where it was changed by somebody else. */
  drift: ForeignChange | undefined;
}
