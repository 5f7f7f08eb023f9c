import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Logger } from 'pino';
import type { Clock } from '../../api/clock.ts';
import type { Session } from '../../dashboard/views.ts';
import { type Answer, isName, type RequestSlots, type Route } from '../http/http-server.ts';
import type { Person } from '../http/reviews.ts';
import { AccessUnknown, type DashboardAccess } from './access.ts';
import { json, orUnavailable, refuse, userOf } from './answers.ts';
import { canaryFeed, fleetFeed, sourceFeed, type Viewer } from './feeds.ts';
import { createModel, type Model, type ModelOptions } from './model.ts';
import { answerRequest, type RequestParts } from './request-route.ts';
import { createStreams, type Feed, holderOf, StreamEnd, type Streams, tooManyPages } from './streams.ts';

/** What the dashboard is made of. */
interface DashboardOptions extends Omit<ModelOptions, 'clock'>, Omit<RequestParts, 'log' | 'clock'> {
  readonly kindOf: Viewer['kindOf'];
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

/** Requests at a time of those who are known, and of others, each of which makes the API server look at a token; and those of one of them. */
const maximumUnderWay = 64;
const maximumOfOne = 16;

/** The page, which is public, and its data, which needs rights. */
export function createDashboard(options: DashboardOptions): Dashboard {
  const { clock, log } = options;
  const model = createModel(options);
  const streams = createStreams(clock, (err) => log.error({ err }, 'a page of the dashboard failed'));
  const parts: Parts = { options, model, streams };
  const page = pageAnswer();
  const slots = slotsFor(options.access);
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
        handle: (request) => orUnavailable(answerRequest(options, request)),
      },
    ],
    follow: model.follow,
    close() {
      streams.close();
      model.close();
    },
  };
}

/** Strangers take no place of people who have logged in, nor one address all places of those who log in. */
function slotsFor(access: DashboardAccess): NonNullable<Route['slots']> {
  const [people, strangers] = [sharedSlots(), sharedSlots()];
  return ({ headers, socket }) => {
    const person = access.remembered(headers);
    return person ? people(holderOf(person.user)) : strangers(socket.remoteAddress ?? '');
  };
}

function sharedSlots(): (holder: string) => RequestSlots[] {
  const all = { maximum: maximumUnderWay, taken: 0 };
  const shares = new Map<string, RequestSlots>();
  return (holder) => {
    for (const [other, { taken }] of shares) if (taken === 0) shares.delete(other);
    const own = shares.get(holder) ?? { maximum: maximumOfOne, taken: 0 };
    shares.set(holder, own);
    return [all, own];
  };
}

async function session(parts: Parts, request: IncomingMessage): Promise<Answer> {
  const found = await userOf(parts.options.access, request, 'read');
  if ('answer' in found) return found.answer;
  const { version, clusterName } = parts.options;
  const value: Session = { user: found.person.user, version, clusterName };
  return json(200, value, { headers: versionHeader(parts) });
}

/** A page outlives an upgrade, and is told by it which version it talks to. */
function versionHeader({ options }: Parts): Record<string, string> {
  return { 'x-holdfast-version': options.version };
}

async function stream(parts: Parts, request: IncomingMessage): Promise<Answer> {
  const found = await userOf(parts.options.access, request, 'read');
  if ('answer' in found) return found.answer;
  const { streams } = parts;
  const { user } = found.person;
  if (!streams.makePlace(user)) return refuse(503, tooManyPages);
  const feed = feedFor(parts, request, found.person);
  if (!feed)
    return refuse(400, 'view must be fleet, canary or source, the latter two with namespace and name');
  return {
    status: 200,
    body: '',
    contentType: 'text/event-stream',
    // Proxies must not buffer events.
    headers: { 'x-accel-buffering': 'no', ...versionHeader(parts) },
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
