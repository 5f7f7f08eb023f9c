import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { buildPage } from '../../scripts/bundle/dashboard-page.mjs';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { App } from '../../src/server/app.ts';
import {
  type Bed,
  canary,
  deployment,
  onGateway,
  runUntilInitialized,
  startBed,
} from '../sandbox/holdfast-bed.ts';
import { startBrowser } from './browser.ts';
import { smallerPng } from './smaller-png.ts';

const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const images = join(import.meta.dirname, '../../docs/images');
const listen = { host: '127.0.0.1', port: 0 };

let browser: Browser;
let html = '';
beforeAll(async () => {
  // As scripts/build.mjs puts it into the program.
  html = (await buildPage()).html;
  Object.assign(globalThis, { HOLDFAST_DASHBOARD_PAGE: html });
  browser = await startBrowser();
});
afterAll(() => browser?.close());

/** What no page may do: break the policy, fail, ask another server, or run what came as text. */
const trouble: string[] = [];
const contexts: BrowserContext[] = [];
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
  expect(trouble.splice(0)).toEqual([]);
});

interface Visit {
  readonly user?: string;
  readonly width?: number;
  readonly colorScheme?: 'light' | 'dark';
  readonly hash?: string;
}

/** A page of its own for one person; the token of a user is its name. */
async function visit({ dashboardUrl = '' }: Pick<App, 'dashboardUrl'>, options: Visit = {}): Promise<Page> {
  const { user, width = 1200, colorScheme = 'light', hash = '' } = options;
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme,
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(300_000);
  contexts.push(context);
  const page = await context.newPage();
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective}`),
    );
  });
  page.on('console', (message) => {
    if (
      message.type() === 'error' &&
      !/status of (401|403|503)|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE/.test(message.text())
    )
      trouble.push(message.text());
  });
  page.on('pageerror', (error) => trouble.push(String(error)));
  page.on('dialog', (dialog) => trouble.push(`dialog: ${dialog.message()}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${dashboardUrl}/`) && !request.url().startsWith('data:'))
      trouble.push(`asked ${request.url()}`);
  });
  await page.goto(user ? `${dashboardUrl}/#token=${user}` : `${dashboardUrl}/`);
  if (hash) await page.evaluate((to) => location.assign(to), hash);
  return page;
}

/** What axe finds; nothing is expected. */
async function findings(page: Page): Promise<unknown> {
  await page.evaluate(await axe);
  return page.evaluate(async () => {
    const { violations } = await (
      globalThis as unknown as {
        axe: {
          run(): Promise<{
            violations: Array<{ id: string; nodes: Array<{ html: string; failureSummary?: string }> }>;
          }>;
        };
      }
    ).axe.run();
    return violations.map(({ id, nodes }) => [
      id,
      nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`),
    ]);
  });
}

/** Puts the page into the background, or back. */
async function seen(page: Page, isSeen: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, !isSeen);
}

/** Written for the docs when they are asked for, and small enough to be looked at: so much of the page, without what stands above `main`. */
async function picture(page: Page, name: string, height: number): Promise<void> {
  if (!process.env.UPDATE_DOCS) return;
  const { x = 0, y = 0, width = 0 } = (await page.locator('main').boundingBox()) ?? {};
  const png = smallerPng(await page.screenshot({ clip: { x, y, width, height } }));
  await mkdir(images, { recursive: true });
  await writeFile(join(images, name), png);
  expect(png.length).toBeLessThan(100_000);
}

const reader = ['canaries/list', 'canaries/get', 'sources/list', 'sources/get'];
/** What users may do in the namespace `shop`; service accounts may do everything. */
const rights: Readonly<Record<string, readonly string[]>> = {
  alice: ['canaries', 'sources', 'pods', 'deployments', 'metrictemplates'].map((one) => `${one}/*`),
  bob: reader,
  dave: [...reader, 'canaries/patch', 'canaries/pause'],
};

/** A proxy before the dashboard, under the path of the API server's. `answerWith`: it answers itself from then on, as when a login has ended. */
async function startProxy({ dashboardUrl = '' }: Pick<App, 'dashboardUrl'>) {
  const path = '/api/v1/namespaces/holdfast-system/services/holdfast:dashboard/proxy';
  let own: { readonly status: number; readonly headers: Readonly<Record<string, string>> } | undefined;
  const proxy = createServer(({ url = '', method, headers }, response) => {
    if (!url.startsWith(path)) return void response.writeHead(404).end();
    if (own) return void response.writeHead(own.status, own.headers).end('<html>Log in</html>');
    const target = `${dashboardUrl}/${url.slice(path.length).replace(/^\//, '')}`;
    const forwarded = httpRequest(target, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy()).end();
    // A page that is closed must not keep its place at the server.
    response.on('close', () => forwarded.destroy());
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${path}`,
    answerWith(status: number, headers: Readonly<Record<string, string>>) {
      own = { status, headers };
      proxy.closeAllConnections();
    },
    close() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

function authorize({ sandbox }: Bed): void {
  sandbox.authenticate((token) => (token in rights || token === 'carol' ? token : undefined));
  sandbox.authorize(({ user, verb, resource, namespace }) => {
    if (user.startsWith('system:serviceaccount:')) return true;
    const allowed = rights[user] ?? [];
    return namespace === 'shop' && [verb, '*'].some((each) => allowed.includes(`${resource}/${each}`));
  });
}

/** Run in the browser: a canvas says how many dashed lines were drawn on it last. The plot of the weight has no bounds, only incidents. */
const countLines = `{
  const { save, restore, setLineDash } = CanvasRenderingContext2D.prototype;
  let lines = 0;
  Object.assign(CanvasRenderingContext2D.prototype, {
    save() { lines = 0; save.call(this); },
    setLineDash(dash) { if (dash.length > 0) lines += 1; setLineDash.call(this, dash); },
    restore() { if (lines > 0) this.canvas.dataset.lines = lines; restore.call(this); },
  });
}`;

/** What runs in the browser sees this. */
declare const document: {
  dispatchEvent(event: Event): void;
  body: { scrollHeight: number };
  documentElement: { scrollWidth: number };
};
declare const innerWidth: number;
declare const location: { assign(to: string): void };
declare function scrollTo(x: number, y: number): void;
declare function addEventListener(name: string, act: (event: { violatedDirective: string }) => void): void;

describe('a page of the dashboard', () => {
  let bed: Bed;
  let app: App;

  beforeAll(async () => {
    bed = await startBed();
    authorize(bed);
    // Nobody is so slow that the release would be over before it is paused.
    const manySteps = Array.from({ length: 19 }, (_, index) => 5 * (index + 1));
    const analysis = {
      ...{ interval: '500ms', iterations: undefined, stepWeights: manySteps, threshold: 5 },
      metrics: [
        {
          name: 'success-rate',
          templateRef: { name: 'success-rate' },
          interval: '1s',
          thresholdRange: { min: 99 },
        },
      ],
    };
    const template = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'success-rate', namespace: 'shop' },
      spec: {
        provider: { type: 'prometheus', address: bed.sandbox.prometheusUrl },
        query: 'sandbox_success_rate{namespace="{{ namespace }}",workload="{{ target }}"}',
      },
    };
    await bed.commit('Start the shop', {
      'web.json': deployment('shop/web:1'),
      'canary.json': canary({ spec: onGateway, analysis }),
      'template.json': JSON.stringify(template),
    });
    app = await runUntilInitialized(bed, {}, { dashboard: { listen } });
    bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  });
  afterAll(() => bed?.close());

  it('is one file of less than 150 kB as it is sent', async () => {
    const { headers } = await fetch(`${app.dashboardUrl}/`);
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(gzipSync(html, { level: 9 }).length).toBeLessThan(150_000);
  });

  it('asks who looks, and shows only what that one may read', async () => {
    const page = await visit(app);
    await page.getByText('kubectl create token').waitFor();
    expect(await findings(page)).toEqual([]);
    await page.getByLabel('Token').fill('mallory');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('kubectl create token').waitFor();
    await page.getByLabel('Token').fill('carol');
    await page.keyboard.press('Enter');
    await page.getByText('There is no Canary, or none that you may read').waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Token').fill('alice');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /shop\/web/ }).waitFor();
    expect(page.url()).not.toContain('alice');
  });

  it('shows nothing of what another person read in the same tab', async () => {
    const page = await visit(app, { user: 'alice' });
    const row = page.getByRole('link', { name: /shop\/web/ });
    await row.waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.route('**/api/stream*', (route) => route.abort());

    await page.getByLabel('Token').fill('carol');
    await page.keyboard.press('Enter');
    await page.getByText('Holdfast does not answer').waitFor();

    expect(await row.count()).toBe(0);
    trouble.splice(0);
  });

  it('works behind any path of a proxy, with a slash at its end or without', async () => {
    const { url: behind, close } = await startProxy(app);
    try {
      const page = await visit({ dashboardUrl: behind }, { user: 'alice' });
      await page.getByRole('link', { name: /shop\/web/ }).waitFor();
      await page.goto(`${behind}?from=portal#/canaries?text=nothing`);
      await page.getByText('No Canary fits.').waitFor();
      expect(page.url()).toBe(`${behind}/?from=portal#/canaries?text=nothing`);
      expect(trouble.splice(0)).toEqual([`asked ${behind}?from=portal`]);
    } finally {
      close();
    }
  });

  it.each([
    ['its login page', 200, { 'content-type': 'text/html' }],
    ['a refusal with its login page', 403, { 'content-type': 'text/html' }],
    ['a redirect', 302, { location: 'https://login.example.com/' }],
  ])('says to log in again when a login proxy answers with %s', async (_, status, headers) => {
    const proxy = await startProxy(app);
    try {
      const page = await visit({ dashboardUrl: proxy.url }, { user: 'alice', hash: '#/source/shop/shop' });
      const sync = page.getByRole('button', { name: 'sync' });
      await sync.waitFor();
      proxy.answerWith(status, headers);
      await sync.click();
      await page
        .locator('.requests')
        .getByText(/reload the page to log in/)
        .waitFor();
      await page
        .locator('.notices')
        .getByText(/reload the page to log in/)
        .waitFor();
    } finally {
      proxy.close();
      trouble.splice(0);
    }
    expect((await bed.source())?.metadata.annotations).not.toHaveProperty('holdfast.dev/sync');
  });

  it('shows a release move, step by step, with evidence, plots and what it changes, and takes an abort', async () => {
    const page = await visit(app, { user: 'alice', colorScheme: 'dark' });
    const row = page.getByRole('link', { name: /shop\/web/ });
    await row.waitFor();
    await page.evaluate(() => Object.assign(globalThis, { stayed: true }));
    await page.evaluate(countLines);
    const weight = page.locator('figure', { hasText: 'Canary weight' });
    const incidentLines = async () => Number(await weight.locator('canvas').getAttribute('data-lines'));
    await bed.commit('Sell by auction', {
      'web.json': deployment('shop/web:2', { env: { MODE: 'auction' } }),
    });
    await row.locator('.phase').getByText('Progressing').waitFor();
    await row.click();
    await page.getByRole('heading', { name: 'web', level: 1 }).waitFor();
    await page.getByText('containers[app].image').waitFor();
    await page.getByText('shop/web:2').first().waitFor();
    await page.locator('figure', { hasText: 'success-rate' }).locator('canvas').waitFor();
    await weight.getByText(/now [1-9]/).waitFor();
    await page.getByRole('region', { name: 'Pods' }).first().getByText('web-primary').first().waitFor();
    await page.getByRole('button', { name: 'pause' }).click();
    await page.getByText('· paused').waitFor();
    expect(await findings(page)).toEqual([]);
    await picture(page, 'dashboard-canary.png', 760);
    await page.getByRole('button', { name: 'abort' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('“Sell by auction” is stopped and rejected').waitFor();
    expect(await findings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'resume' }).click();
    const linesBefore = await incidentLines();
    await page.getByRole('button', { name: 'abort' }).click();
    await dialog.getByRole('button', { name: 'Yes, abort' }).click();
    await page.locator('.answers').getByText('was aborted on request').waitFor();
    await page.locator('.state').getByText('Failed').waitFor();
    await expect.poll(incidentLines).toBeGreaterThan(linesBefore);
    await page.getByRole('button', { name: 'retry' }).waitFor();
    expect(await page.evaluate(() => (globalThis as unknown as { stayed: boolean }).stayed)).toBe(true);
  });

  it('lets a reader look and ask for nothing', async () => {
    const page = await visit(app, { user: 'bob', hash: '#/canary/shop/web' });
    await page.getByText('You may only look').waitFor();
    expect(
      await page
        .getByRole('button', { name: 'abort' })
        .or(page.getByRole('button', { name: 'retry' }))
        .first()
        .isDisabled(),
    ).toBe(true);
    await page.getByText('You may not list pods of namespace shop.').waitFor();
  });

  it('names what else a person may not ask for who may ask for some of it', async () => {
    const page = await visit(app, { user: 'dave', hash: '#/canary/shop/web' });
    await page.getByText('You may not retry: needs the RBAC verb retry on canaries.').waitFor();
    expect(await page.getByText('You may only look').count()).toBe(0);
  });

  it('tells times by the clock of Holdfast, where that of the reader is wrong', async () => {
    const page = await visit(app, { user: 'alice' });
    await page.getByRole('link', { name: /shop\/web/ }).waitFor();
    await page.clock.setFixedTime(Date.now() + 3 * 3_600_000);
    await page.reload();
    await page.getByRole('link', { name: /shop\/web/ }).click();
    const incident = page.getByRole('region', { name: 'Incidents' }).locator('time').first();

    await incident.waitFor();

    expect(await incident.textContent()).toMatch(/^(\d+ (s|min) ago|now)$/);
  });

  it('shows a Source with its commits and objects', async () => {
    const page = await visit(app, { user: 'alice', hash: '#/source/shop/shop' });
    const objects = page.getByRole('group', { name: 'Objects of this Source' });
    await objects.getByText('Canary web').waitFor();
    await objects.getByText('MetricTemplate success-rate').waitFor();
    expect(await findings(page)).toEqual([]);
    const before = await page.getByRole('button', { name: 'sync' }).count();
    expect(before).toBe(1);
    await page.getByRole('button', { name: 'sync' }).click();
    await page.getByText('sync: taken.').waitFor();
  });
});

describe('a list of a thousand Canaries', () => {
  let bed: Bed;
  let app: App;

  beforeAll(async () => {
    bed = await startBed();
    authorize(bed);
    // Another copy leads, so that this one only shows.
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = {
      holderIdentity: 'another',
      leaseDurationSeconds: 3_600,
      acquireTime: renewTime,
      renewTime,
    };
    await bed.send('POST', '/apis/coordination.k8s.io/v1/namespaces/default/leases', {
      ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'holdfast' }, spec },
    });
    for (let first = 0; first < 1_000; first += 50)
      await Promise.all(Array.from({ length: 50 }, (_, index) => createCanary(bed, first + index)));
    app = await bed.start({ dashboard: { listen } });
  });
  afterAll(() => bed?.close());

  it('draws what can be seen, filters it, and is used without a mouse', async () => {
    const page = await visit(app, { user: 'alice' });
    await page.getByText('1000 Canaries', { exact: true }).waitFor();
    expect(await page.locator('ul.rows > li').count()).toBeLessThan(80);
    expect(await findings(page)).toEqual([]);
    await picture(page, 'dashboard-fleet.png', 520);
    await seen(page, false);
    const again = page.waitForRequest(/api\/stream/);
    await seen(page, true);
    await again;
    await page.keyboard.press('/');
    await page.keyboard.type('app-0777');
    await page.getByText('1 of 1000 Canaries').waitFor();
    expect(page.url()).toContain('text=app-0777');
    await page.getByLabel('Search').fill('');
    await page.getByRole('button', { name: /needs a look 20/ }).click();
    await page.getByText('20 of 1000 Canaries').waitFor();
    await page.getByLabel('Owner').selectOption('team-3');
    await page.getByText('4 of 1000 Canaries').waitFor();
    await page.getByRole('heading', { name: 'Canaries' }).click();
    await page.keyboard.press('j');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'app-' }).waitFor();
    await page.goBack();
    await page.getByText('4 of 1000 Canaries').waitFor();
    await page.keyboard.press('g');
    await page.getByText('1000 Canaries', { exact: true }).waitFor();
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.getByRole('link', { name: /app-0999/ }).waitFor();
  });

  it('shows what others wrote as text, whatever it is', async () => {
    const page = await visit(app, { user: 'alice', hash: '#/canaries?tone=bad' });
    await page.getByText('<img src=x onerror=alert(1)>').first().waitFor();
    await page.getByRole('link', { name: /app-0950/ }).click();
    await page.getByText('</script><script>alert(2)</script>').first().waitFor();
    expect(await page.locator('main img, main script, main iframe').count()).toBe(0);
    const links = await page
      .locator('main a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    expect(links.filter((href) => !href?.startsWith('#/'))).toEqual([]);
  });

  it('fits a phone', async () => {
    const page = await visit(app, { user: 'alice', width: 390, colorScheme: 'dark' });
    await page.getByRole('link', { name: /app-0000/ }).waitFor();
    const isWider = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    expect(await isWider()).toBe(false);
    expect(await findings(page)).toEqual([]);
    await picture(page, 'dashboard-phone.png', 640);
    await page.getByRole('link', { name: /app-0000/ }).click();
    await page.getByRole('heading', { level: 1, name: 'app-0000' }).waitFor();
    expect(await isWider()).toBe(false);
  });

  it('says that nothing new comes when Holdfast is gone, and what is shown stays', async () => {
    const page = await visit(app, { user: 'alice' });
    await page.getByText('1000 Canaries', { exact: true }).waitFor();
    await app.drain();
    await page.getByText('What is shown may be old; trying again').waitFor();
    await page.getByText('1000 Canaries', { exact: true }).waitFor();
  });
});

const sha = (index: number) => createHash('sha1').update(String(index)).digest('hex');

const subjects = [
  'Add gift cards',
  'Sell by auction',
  'Cache carts',
  'Ask for the postal code',
  'Round half up',
];

/** Every fiftieth failed, every tenth is under way; what people wrote into the last of these means harm. */
async function createCanary(bed: Bed, index: number): Promise<void> {
  const name = `app-${String(index).padStart(4, '0')}`;
  const path = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';
  const isBad = index % 50 === 0;
  const isBusy = !isBad && index % 10 === 0;
  const isHostile = isBad && index >= 900;
  const subject = isHostile
    ? '<img src=x onerror=alert(1)>'
    : (subjects[(index + Math.floor(index / 50)) % subjects.length] ?? '');
  const reason = isBad ? 'MetricFailed' : isBusy ? 'Analysing' : 'Succeeded';
  const digest = `v1:${sha(index)}`;
  const time = new Date(Date.now() - index * 60_000).toISOString();
  const status: CanaryStatus = {
    phase: isBad ? 'Failed' : isBusy ? 'Progressing' : 'Succeeded',
    canaryWeight: isBusy ? 30 : 0,
    lastAppliedCommit: sha(index),
    message: isHostile ? '</script><script>alert(2)</script>' : `what is to be said of ${name}`,
    serving: [{ workload: `${name}-primary`, digest, commit: sha(index), subject, weight: 100, ready: 2 }],
    conditions: [
      {
        type: 'Ready',
        status: isBad || isBusy ? 'False' : 'True',
        reason,
        message: '"><svg onload=alert(3)>',
        lastTransitionTime: time,
      },
    ],
    ...(isBusy ? { next: { action: 'next check', time: new Date(Date.now() + 30_000).toISOString() } } : {}),
  };
  const object = JSON.parse(canary({ name }));
  object.metadata.annotations = { 'holdfast.dev/owner': `team-${((index / 50) % 5) | 0}` };
  await bed.send('POST', path, object);
  await bed.send('PATCH', `${path}/${name}/status`, { status });
}
