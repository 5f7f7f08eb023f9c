import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Logger } from 'pino';
import type { Clock } from '../../api/clock.ts';
import { isRecord } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { stamp } from '../../api/time.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { EventSink } from '../../contracts/cluster.ts';
import type { Session } from '../../dashboard/views.ts';
import { type Answer, type Route, readBody } from '../http/http-server.ts';
import type { Person } from '../http/reviews.ts';
import { AccessUnknown, type DashboardAccess, type Purpose } from './access.ts';
import { canaryFeed, fleetFeed, missingRight, sourceFeed, type Viewer } from './feeds.ts';
import { createModel, type Model, type ModelOptions, ourResources } from './model.ts';
import { annotationFor } from './requests.ts';
import { createStreams, type Feed, StreamEnd, type Streams } from './streams.ts';

/** What the dashboard is made of. */
interface DashboardOptions extends Omit<ModelOptions, 'clock'> {
  readonly access: DashboardAccess;
  /** Writes annotations; with a separate request budget. Undefined: requests are refused (shadow mode). */
  readonly writer: Pick<ClusterClient, 'patch'> | undefined;
  readonly kindOf: Viewer['kindOf'];
  readonly events: EventSink;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly clock: Clock;
  readonly version: string;
  readonly clusterName: string;
  readonly documentation: string | undefined;
}

/** The dashboard's routes, and its end. */
interface Dashboard {
  readonly routes: readonly Route[];
  /** The Canaries are watched from now on: what plots show begins here. */
  follow(): void;
  close(): void;
}

interface Parts {
  readonly options: DashboardOptions;
  readonly model: Model;
  readonly streams: Streams;
}

/** Requests that wait for an answer about rights, which strangers can cause. */
const maximumUnderWay = 64;

/** The page, which is public, and its data, which needs rights. */
export function createDashboard(options: DashboardOptions): Dashboard {
  const { clock, log } = options;
  const model = createModel(options);
  const streams = createStreams(clock, (err) => log.error({ err }, 'a page of the dashboard failed'));
  const parts: Parts = { options, model, streams };
  const page = pageAnswer();
  const slots = { maximum: maximumUnderWay, taken: 0 };
  return {
    routes: [
      { method: 'GET', path: '/', handle: () => page },
      {
        method: 'GET',
        path: '/api/session',
        slots,
        handle: (request) => orUnavailable(session(parts, request)),
      },
      {
        method: 'GET',
        path: '/api/stream',
        slots,
        handle: (request) => orUnavailable(stream(parts, request)),
      },
      {
        method: 'POST',
        path: '/api/requests',
        slots,
        handle: (request) => orUnavailable(ask(parts, request)),
      },
    ],
    follow: model.follow,
    close() {
      streams.close();
      model.close();
    },
  };
}

const manager = 'holdfast-dashboard';

function json(status: number, value: unknown, more: Partial<Answer> = {}): Answer {
  return { status, body: JSON.stringify(value), contentType: 'application/json', ...more };
}

function refuse(status: number, message: string): Answer {
  return json(status, { message }, status === 503 ? { retryAfterSeconds: 5 } : {});
}

/** The answer, or 503 when the user cannot be authenticated now. */
async function orUnavailable(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AccessUnknown) return refuse(503, error.message);
    throw error;
  }
}

const howToLogIn =
  'Paste a token for the audience holdfast.dev. To make one: kubectl create token SERVICE-ACCOUNT -n NAMESPACE --audience holdfast.dev --duration 8h';

/** The person behind a request, or what to answer instead. */
async function who(
  { options }: Parts,
  request: IncomingMessage,
  purpose: Purpose,
): Promise<{ person: Person } | { answer: Answer }> {
  // Against CSRF: other sites can send requests from a user's browser, but not with this header.
  if (request.headers['x-holdfast-page'] !== '1')
    return { answer: refuse(403, 'requests need the header x-holdfast-page: 1') };
  const person = await options.access.identify(request.headers, purpose);
  return person ? { person } : { answer: refuse(401, howToLogIn) };
}

async function session(parts: Parts, request: IncomingMessage): Promise<Answer> {
  const found = await who(parts, request, 'read');
  if ('answer' in found) return found.answer;
  const { version, clusterName } = parts.options;
  const value: Session = { user: found.person.user, version, clusterName };
  return json(200, value);
}

async function stream(parts: Parts, request: IncomingMessage): Promise<Answer> {
  const found = await who(parts, request, 'read');
  if ('answer' in found) return found.answer;
  const { streams } = parts;
  const { user } = found.person;
  if (!streams.hasPlace(user)) return refuse(503, 'too many pages of the dashboard are open; close some');
  const feed = feedFor(parts, request, found.person);
  if (!feed)
    return refuse(400, 'view must be fleet, canary or source, the latter two with namespace and name');
  return {
    status: 200,
    body: '',
    contentType: 'text/event-stream',
    // Proxies must not buffer events.
    headers: { 'x-accel-buffering': 'no' },
    stream: (response) => streams.open(user, feed, response),
  };
}

function feedFor({ options, model }: Parts, request: IncomingMessage, person: Person): Feed | undefined {
  const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
  const { access, clock, kindOf, documentation } = options;
  const { headers } = request;
  const viewer: Viewer = {
    model,
    access,
    person,
    kindOf,
    documentation,
    nowMs: clock.nowMs,
    async confirm() {
      const now = await access.identify(headers, 'read').catch((error: unknown) => {
        throw error instanceof AccessUnknown ? new StreamEnd(error.message) : error;
      });
      if (!now) throw new StreamEnd('You are logged out.');
    },
  };
  const [namespace, name] = [query.get('namespace') ?? '', query.get('name') ?? ''];
  const view = query.get('view');
  if (view === 'fleet') return fleetFeed(viewer);
  if (!isName(namespace) || !isName(name)) return undefined;
  if (view === 'canary') return canaryFeed(viewer, namespace, name);
  return view === 'source' ? sourceFeed(viewer, namespace, name) : undefined;
}

interface Asked {
  readonly kind: 'Canary' | 'Source';
  readonly namespace: string;
  readonly name: string;
  readonly command: string;
  readonly revision: string;
}

/** Sets the annotation of a verb for a user with the right. */
async function ask(parts: Parts, request: IncomingMessage): Promise<Answer> {
  const { options, model } = parts;
  const found = await who(parts, request, 'write');
  if ('answer' in found) return found.answer;
  const body = await readBody(request, limits.dashboardRequestBytes);
  const asked = body && askedIn(body);
  if (!asked) return refuse(400, 'kind, namespace, name and command are needed');
  const annotation = annotationFor(asked.kind, asked.command, asked.revision, stamp(options.clock.nowMs()));
  if (!annotation) return refuse(400, `there is no command ${asked.command} for a ${asked.kind}`);
  const { namespace, name, kind } = asked;
  const { person } = found;
  const target = { ...ourResources[kind], namespace, name };
  const missing = await missingRight(options.access, person, target, annotation.verb, 'write');
  if (missing !== undefined) return refuse(403, `${person.user} ${missing}`);
  const object = model.object(kind, namespace, name);
  if (!object) return refuse(404, `there is no ${kind} ${namespace}/${name}`);
  if (!options.writer) return refuse(409, 'Holdfast runs in shadow mode and writes nothing');
  return write(parts, { asked, annotation, person, uid: object.metadata.uid ?? '' });
}

async function write(
  { options, model }: Parts,
  {
    asked,
    annotation,
    person,
    uid,
  }: { asked: Asked; annotation: { key: string; value: string | null }; person: Person; uid: string },
): Promise<Answer> {
  const { kind, namespace, name, command, revision } = asked;
  const object = model.object(kind, namespace, name);
  const fields = { user: person.user, command, kind, namespace, name, revision };
  try {
    const body = { metadata: { uid, annotations: { [annotation.key]: annotation.value } } };
    const reference = { apiVersion: object?.apiVersion ?? '', kind, namespace, name };
    const changed = await options.writer?.patch(reference, body, { type: 'merge', manager });
    options.log.info(fields, 'asked for on the dashboard');
    if (changed) {
      const about = revision ? ` of ${revision.slice(0, 15)}` : '';
      const message = `${person.user} asked for ${command}${about} on the dashboard`;
      options.events.emit(changed, { type: 'Normal', reason: 'DashboardRequest', message });
    }
    return json(202, { value: annotation.value });
  } catch (error) {
    options.log.warn({ err: error, ...fields }, 'what was asked for on the dashboard could not be written');
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

function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(value);
}

/** Put in by scripts/build.mjs: the page of src/dashboard as one file. Not there when the sources run as they are. */
declare const HOLDFAST_DASHBOARD_PAGE: string | undefined;

const notBuilt =
  '<!doctype html><html lang="en"><title>Holdfast</title><p>The page of the dashboard is part of the built program: run <code>npm run build</code>, then <code>node dist/main.js</code>.';

/** The one page, with the policy that lets nothing run but what was built into it, and nothing be asked of any other server. */
function pageAnswer(): Answer {
  const html = typeof HOLDFAST_DASHBOARD_PAGE === 'string' ? HOLDFAST_DASHBOARD_PAGE : notBuilt;
  const bytes = gzipSync(html, { level: 9 });
  return {
    status: 200,
    body: '',
    stream: (response) => response.end(bytes),
    contentType: 'text/html; charset=utf-8',
    headers: {
      'content-encoding': 'gzip',
      'content-security-policy': [
        "default-src 'none'",
        `script-src ${hashesOf(html, 'script')}`,
        `style-src ${hashesOf(html, 'style')}`,
        "connect-src 'self'",
        'img-src data:',
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ].join('; '),
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      'referrer-policy': 'no-referrer',
    },
  };
}

function hashesOf(html: string, tag: 'script' | 'style'): string {
  const texts = [...html.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))];
  const hashes = texts.map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  );
  return hashes.length > 0 ? hashes.join(' ') : "'none'";
}
