/** What a move to a Source changes in the files. Pure. */
import { basename, dirname, join } from 'node:path';
import type { Source } from '../../api/source.ts';
import { adoptFromAnnotation, type FormerOwner, formerOwnerText } from '../../engine/source/former-owner.ts';
import { deleteField, edited, type Files } from './edit.ts';
import type { MoveFacts } from './facts.ts';
import { pruneAfterAnnotation } from './prune-after.ts';
import { type Placed, withFileBeside, withoutPlaced } from './tree.ts';

/** What one move is about. */
export interface ForwardInput {
  readonly former: FormerOwner;
  readonly files: Files;
  /** The owner in the tree; undefined: it was taken out already. */
  readonly owner?: Placed | undefined;
  /** The Source in the tree. */
  readonly source?: Placed | undefined;
  /** The Source to be committed, from the owner; undefined where that is gone. */
  readonly wanted?: Source | undefined;
  /** Undefined: no cluster was asked. */
  readonly facts?: MoveFacts | undefined;
}

/** Where the Source is, or will be: beside the owner. */
export function sourceFile({ source, owner, former }: ForwardInput): string {
  return source?.origin.file ?? join(dirname(owner?.origin.file ?? '.'), `${former.name}-source.yaml`);
}

/** With the Source, while it is not there yet. */
export function withSource(files: Files, input: ForwardInput): Files {
  const { wanted, source, owner } = input;
  if (!wanted || source) return files;
  return withFileBeside(files, sourceFile(input), [wanted], basename(owner?.origin.file ?? ''));
}

/** Without the owner, and without what goes with it. */
export function withoutOwner(files: Files, { owner }: ForwardInput, also: readonly Placed[]): Files {
  return owner ? withoutPlaced(files, [owner, ...also]) : files;
}

/** With the Source as it is after the move: it takes nothing over any more, and prunes where the owner did. */
export function withPruning(files: Files, input: ForwardInput): Files {
  const { namespace, name } = input.former;
  return edited(files, sourceFile(input), { kind: 'Source', namespace, name }, (document) => {
    for (const key of [adoptFromAnnotation, pruneAfterAnnotation])
      deleteField(document, ['metadata', 'annotations', key]);
    if (prunesAfter(input)) document.setIn(['spec', 'prune'], true);
  });
}

/** As the annotation says that the move was begun with. */
export function prunesAfter({ source, wanted, facts }: ForwardInput): boolean {
  const of = (object: Placed['object'] | undefined) => object?.metadata.annotations?.[pruneAfterAnnotation];
  return (of(source?.object) ?? of(wanted) ?? of(facts?.source)) === 'true';
}

/** The Source as it is committed first. */
export function firstSource(former: FormerOwner, spec: Source['spec'], prunes: boolean): Source {
  const annotations = {
    [adoptFromAnnotation]: formerOwnerText(former),
    ...(prunes ? { [pruneAfterAnnotation]: 'true' } : {}),
  };
  const { namespace, name } = former;
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name, namespace, annotations },
    spec,
  };
}
