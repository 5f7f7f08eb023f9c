import type { Source } from '../api/source/source.ts';
import type { Connection } from '../server/connection.ts';
import { argoFromSource } from './argocd/steps.ts';
import { fluxFromSource } from './flux/steps.ts';
import { fromSourceSteps } from './from-source.ts';
import { readFacts } from './read-facts.ts';
import { type Move, placeSteps } from './steps.ts';
import { argoOfSource, fluxOfSource } from './tool-objects.ts';
import type { MoveTree, Subject } from './tree.ts';

/** Plans the way of one Source back to the other tool. Throws ApiError. */
export async function planFromSource(
  tree: MoveTree,
  subject: Subject,
  connection: Connection | undefined,
): Promise<Move> {
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
      stops.push(`${tree.at(one.origin, 'metadata')}: has no namespace; set it in the file`);
  if (stops.length > 0) return { name: title, stops, notes: [], steps: [] };

  const facts = connection && (await readFacts(connection, { former, dependsOn: [] }));
  const tool = former.kind === 'Application' ? argoFromSource : fluxFromSource;
  const steps = fromSourceSteps(tool, { ...subject, files: tree.files, wanted: made?.objects ?? [], facts });
  return { name: title, stops: [], notes: made?.notes ?? [], steps: placeSteps(steps) };
}
