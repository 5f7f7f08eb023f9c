import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { isRecord } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { stamp } from '../../api/time.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { EventSink } from '../../contracts/cluster.ts';
import { whySetBack } from '../../workload/compare/managed-fields.ts';
import { type Answer, isName, readBody } from '../http/http-server.ts';
import { type DashboardAccess, missingRight, ourResources } from './access.ts';
import { json, refuse, userOf } from './answers.ts';
import { annotationFor } from './requests.ts';

/** What requests on the dashboard use. */
export interface RequestParts {
  readonly access: DashboardAccess;
  /** Reads objects, which not every copy watches, and writes annotations; with a separate request budget. Undefined: requests are refused (shadow mode). */
  readonly writer: Pick<ClusterClient, 'get' | 'patch'> | undefined;
  readonly events: EventSink;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly clock: { nowMs(): number };
}

const manager = 'holdfast-dashboard';

interface Asked {
  readonly kind: 'Canary' | 'Source';
  readonly namespace: string;
  readonly name: string;
  readonly command: string;
  readonly revision: string;
}

/** Sets the annotation of a verb for a user with the right. */
export async function answerRequest(parts: RequestParts, request: IncomingMessage): Promise<Answer> {
  const { access, clock, writer } = parts;
  const found = await userOf(access, request, 'write');
  if ('answer' in found) return found.answer;
  const body = await readBody(request, limits.dashboardRequestBytes);
  const asked = body && askedIn(body);
  if (!asked) return refuse(400, 'kind, namespace, name and command are needed');
  const annotation = annotationFor(asked.kind, asked.command, asked.revision, stamp(clock.nowMs()));
  if (!annotation) return refuse(400, `there is no command ${asked.command} for a ${asked.kind}`);
  const { namespace, name, kind } = asked;
  const { person } = found;
  const target = { ...ourResources[kind], namespace, name };
  const missing = await missingRight(access, person, target, annotation.verb, 'write');
  if (missing !== undefined) return refuse(403, `${person.user} ${missing}`);
  if (!writer) return refuse(409, 'Holdfast runs in shadow mode and writes nothing');
  return write({ ...parts, writer }, { asked, annotation, user: person.user });
}

async function write(
  { writer, events, log }: RequestParts & { readonly writer: NonNullable<RequestParts['writer']> },
  {
    asked,
    annotation: { verb, key, value },
    user,
  }: {
    asked: Asked;
    annotation: { verb: string; key: string; value: string | null };
    user: string;
  },
): Promise<Answer> {
  const { kind, namespace, name, command, revision } = asked;
  const fields = { user, command, kind, namespace, name, revision };
  try {
    const reference = { apiVersion: apiVersionOf(kind), kind, namespace, name };
    const live = await writer.get(reference);
    if (!live) return refuse(404, `there is no ${kind} ${namespace}/${name}`);
    // A state, which whoever applies it would set back.
    const setBack = verb === 'pause' && whySetBack(live, ['metadata', 'annotations', key]);
    if (setBack) return refuse(409, setBack);
    const body = { metadata: { uid: live.metadata.uid, annotations: { [key]: value } } };
    const changed = await writer.patch(reference, body, { type: 'merge', manager });
    log.info(fields, 'requested on the dashboard');
    const about = revision ? ` of ${revision.slice(0, 15)}` : '';
    const message = `${user} requested ${command}${about} on the dashboard`;
    events.emit(changed, { type: 'Normal', reason: 'DashboardRequest', message });
    return json(202, { value });
  } catch (error) {
    log.warn({ err: error, ...fields }, 'a request of the dashboard could not be written');
    if (isApiError(error, 'notFound', 'conflict'))
      return refuse(409, `${kind} ${namespace}/${name} was deleted or recreated; nothing was written`);
    if (isApiError(error, 'forbidden'))
      return refuse(403, 'Holdfast may not write this annotation: install it with the option --dashboard');
    return refuse(503, 'the API server did not take it; look at the object before asking again');
  }
}

function askedIn(body: Buffer): Asked | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { kind, namespace, name, command, revision = '' } = value;
  if (kind !== 'Canary' && kind !== 'Source') return undefined;
  if (!isName(namespace) || !isName(name) || typeof command !== 'string' || command.length > 32)
    return undefined;
  if (typeof revision !== 'string' || !/^[\w:.-]{0,128}$/.test(revision)) return undefined;
  return { kind, namespace, name, command, revision };
}
