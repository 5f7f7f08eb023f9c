/** What a way back changes in the files. Pure. */
import { basename, dirname, join } from 'node:path';
import type { Document } from 'yaml';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import type { FormerOwner } from '../../engine/source/former-owner.ts';
import { deleteField, edited, type Files, identityOf } from './edit.ts';
import type { MoveFacts } from './facts.ts';
import { pruneAfterAnnotation } from './prune-after.ts';
import { type Placed, withFileBeside, withoutPlaced } from './tree.ts';

/** What a way back is about. */
export interface BackInput {
  /** Who gets the objects. */
  readonly former: FormerOwner;
  readonly files: Files;
  readonly source?: Placed | undefined;
  /** Its object in the tree, where there is one already. */
  readonly owner?: Placed | undefined;
  /** Its objects, to be committed. */
  readonly wanted: readonly KubernetesObject[];
  readonly facts?: MoveFacts | undefined;
}

/** Where the Source is; empty: nowhere in the tree. */
export function sourceFile({ source }: BackInput): string {
  return source?.origin.file ?? '';
}

/** Where the other tool's object is, or will be: beside the Source. */
export function ownerFile(input: BackInput): string {
  const tool = input.former.kind === 'Application' ? 'application' : 'flux';
  return (
    input.owner?.origin.file ?? join(dirname(sourceFile(input) || '.'), `${input.former.name}-${tool}.yaml`)
  );
}

/** With a Source that neither applies nor deletes; whether it pruned is kept beside it. */
export function withSourceHeld(files: Files, { source }: BackInput): Files {
  if (!source) return files;
  return edited(files, source.origin.file, identityOf(source.object), (document) => {
    if ((source.object as Source).spec.prune === true)
      document.setIn(['metadata', 'annotations', pruneAfterAnnotation], 'true');
    document.setIn(['spec', 'prune'], false);
    document.setIn(['spec', 'suspend'], true);
  });
}

/** With the other tool's object, which applies. `resume` changes one that is there already. */
export function withOwner(files: Files, input: BackInput, resume: (document: Document) => void): Files {
  const { owner, wanted } = input;
  if (owner) return edited(files, owner.origin.file, identityOf(owner.object), resume);
  if (wanted.length === 0) return files;
  return withFileBeside(files, ownerFile(input), wanted, basename(sourceFile(input)));
}

/** Without the Source. */
export function withoutSource(files: Files, { source }: BackInput): Files {
  return source ? withoutPlaced(files, [source]) : files;
}

/** With the other tool's object as it is after the move; `prune` turns pruning on where the Source pruned. */
export function withPruning(files: Files, input: BackInput, prune: (document: Document) => void): Files {
  const { kind, namespace, name } = input.former;
  return edited(files, ownerFile(input), { kind, namespace, name }, (document) => {
    deleteField(document, ['metadata', 'annotations', pruneAfterAnnotation]);
    if (prunesAfter(input)) prune(document);
  });
}

/** Whether the move was begun with a Source that prunes. */
export function prunesAfter({ source, owner, wanted, facts }: BackInput): boolean {
  const objects = [source?.object, owner?.object, ...wanted, facts?.owner, facts?.source];
  const isSaid = objects.some((object) => object?.metadata.annotations?.[pruneAfterAnnotation] === 'true');
  return isSaid || (source?.object as Source | undefined)?.spec.prune === true;
}
