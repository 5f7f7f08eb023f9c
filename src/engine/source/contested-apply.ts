/** Applying what others have changed: who that was is told, and what happens is for the object to say. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { EngineError } from '../failure.ts';
import type { ApplyOptions, Cluster } from '../ports/ports.ts';
import { isInPointer, withoutFields } from './field-paths.ts';

/** What happens to fields that another manager has: `override` (default) takes them back, `leave` leaves them, `refuse` writes nothing. */
export const onConflictAnnotation = 'holdfast.dev/on-conflict';
/** JSON pointers, with commas between, of fields that are left to whoever else writes them. */
export const ignoreFieldsAnnotation = 'holdfast.dev/ignore-fields';

/** A field that another manager has written. */
export interface Contested {
  readonly manager: string;
  /** As the API server names it: `.data.level`. */
  readonly field: string;
  /** RFC 3339; undefined where the server does not say. */
  readonly time?: string | undefined;
  readonly subresource?: string | undefined;
}

/** What came of applying. */
export interface ContestedWrite {
  readonly written: KubernetesObject;
  /** Taken back from others. */
  readonly taken: readonly Contested[];
  /** Left to others. */
  readonly left: readonly Contested[];
}

/** How it is applied. */
export interface ContestOptions {
  readonly over: ApplyOptions['over'] | undefined;
  /** The same fields with the times of the writes, which the server's refusal does not tell. */
  readonly timed: (contested: readonly Contested[]) => Promise<readonly Contested[]>;
}

/**
 * Server-side apply. Where others have written our fields the server says who, and they are taken, left or refused. Throws EngineError
 * FieldConflict, and what the server refuses.
 */
export async function applyOverOthers(
  cluster: Pick<Cluster, 'apply'>,
  wanted: KubernetesObject,
  { over, timed }: ContestOptions,
): Promise<ContestedWrite> {
  const options = { manager: 'holdfast', ...(over ? { over } : {}) } as const;
  try {
    return { written: await cluster.apply(wanted, { ...options, force: false }), taken: [], left: [] };
  } catch (error) {
    const found = contestedIn(error);
    if (found.length === 0) throw error;
    const contested = await timed(found);
    const left = contested.filter((field) => isLeft(wanted, field));
    const taken = contested.filter((field) => !left.includes(field));
    if (taken.length > 0 && policyOf(wanted) === 'refuse') throw refused(taken);
    const kept = withoutFields(
      wanted,
      left.map(({ field }) => field),
    );
    return { written: await cluster.apply(kept, { ...options, force: true }), taken, left };
  }
}

/** Fields in words: `.data.level (kubectl-edit at 2026-11-21T10:00:00Z)`. */
export function contestedInWords(contested: readonly Contested[]): string {
  const shown = contested.slice(0, 3).map(({ field, manager, time }) => {
    return `${field} (${manager}${time ? ` at ${time}` : ''})`;
  });
  const more = contested.length > 3 ? ` and ${contested.length - 3} more` : '';
  return `${shown.join(', ')}${more}`;
}

function isLeft(wanted: KubernetesObject, contested: Contested): boolean {
  if (isAutoscalers(contested) || policyOf(wanted) === 'leave') return true;
  const pointers = (wanted.metadata.annotations?.[ignoreFieldsAnnotation] ?? '').split(',');
  return pointers.some((pointer) => isInPointer(wanted, pointer.trim(), contested.field));
}

/** HorizontalPodAutoscalers, those that KEDA makes included, write by the subresource. */
function isAutoscalers({ manager, subresource }: Contested): boolean {
  return manager === 'kube-controller-manager' && subresource === 'scale';
}

function policyOf({ metadata }: KubernetesObject): 'override' | 'leave' | 'refuse' {
  const said = metadata.annotations?.[onConflictAnnotation];
  return said === 'leave' || said === 'refuse' ? said : 'override';
}

function refused(taken: readonly Contested[]): EngineError {
  return new EngineError(
    'FieldConflict',
    `others write what Git says: ${contestedInWords(taken)}; take it out of Git, or set ${onConflictAnnotation} to override or leave`,
  );
}

/** Adapters give such an error the fields and their managers. */
function contestedIn(error: unknown): readonly Contested[] {
  const { kind, fieldConflicts } = (error ?? {}) as { kind?: unknown; fieldConflicts?: readonly Contested[] };
  return kind === 'fieldConflict' ? (fieldConflicts ?? []) : [];
}
