import type { Source } from '../../api/source.ts';
import { backSteps } from './back.ts';
import { argoBack, fluxBack } from './back-tools.ts';
import { argoOfSource, fluxOfSource } from './from-source.ts';
import { readFacts } from './read-facts.ts';
import { type Move, placed } from './step.ts';
import type { MoveQuery, Subject } from './subject.ts';
import type { MoveTree } from './tree.ts';

/** Plans the way of one Source back to the other tool. Throws ApiError. */
export async function planBack(tree: MoveTree, subject: Subject, query: MoveQuery): Promise<Move> {
  const { former, source, owner } = subject;
  const { namespace, name } = former;
  const title = `Source ${namespace}/${name}`;
  const made =
    source && !owner
      ? (former.kind === 'Application' ? argoOfSource : fluxOfSource)(source.object as Source)
      : undefined;
  const stops = (made?.stops ?? []).map(
    ({ field, message }) => `${source ? tree.at(source.origin, field) : ''}: ${field}: ${message}`,
  );
  for (const one of [source, owner])
    if (one && !one.object.metadata.namespace)
      stops.push(`${tree.at(one.origin, 'metadata')}: names no namespace; write it into the file`);
  if (stops.length > 0) return { name: title, stops, notes: [], steps: [] };

  const facts = query.cluster && (await readFacts(query.cluster.connection, { former, dependsOn: [] }));
  const tool = former.kind === 'Application' ? argoBack : fluxBack;
  const steps = backSteps(tool, { ...subject, files: tree.files, wanted: made?.objects ?? [], facts });
  return { name: title, stops: [], notes: made?.notes ?? [], steps: placed(steps) };
}
