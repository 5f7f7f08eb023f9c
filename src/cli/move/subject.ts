/** What a move is asked of, and about. */
import type { Connection } from '../../app/connection.ts';
import type { FormerOwner } from '../../engine/source/former-owner.ts';
import type { Rendering } from './compare.ts';
import type { Placed } from './tree.ts';

/** What is asked. */
export interface MoveQuery {
  readonly tool: 'flux' | 'argocd';
  readonly path: string;
  readonly isBack: boolean;
  /** The cluster, and how Git is asked; undefined: nothing is read back. */
  readonly cluster: ({ readonly connection: Connection } & Rendering) | undefined;
}

/** One thing to move, as far as the tree says it. */
export interface Subject {
  readonly former: FormerOwner;
  readonly owner?: Placed | undefined;
  readonly source?: Placed | undefined;
}
