import { expect, test } from 'vitest';
import { configMap } from './bodies.ts';
import { widgets } from './custom-resources.ts';
import type { Suite } from './suite.ts';
import { freshNamespace, type Json, type WatchStream } from './target.ts';

const MERGE = 'application/merge-patch+json';

/** The next events; a server may send bookmarks between them whenever it likes. */
async function take(stream: WatchStream, count: number): Promise<string[]> {
  const seen: string[] = [];
  while (seen.length < count) {
    const event = await stream.next();
    if (!event) break;
    if (event.type !== 'BOOKMARK') seen.push(`${event.type} ${event.object.metadata?.name ?? ''}`.trim());
  }
  return seen;
}

/** Resuming, bookmarks, initial events, selectors, forgotten versions. */
export function watchTests(suite: Suite): void {
  const { target } = suite;

  async function collection(): Promise<{
    path: string;
    labelled: string;
    write: (name: string, labels: Json) => Promise<Json>;
  }> {
    const namespace = await freshNamespace(target());
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const write = async (name: string, labels: Json) => {
      const { body } = await target().request('POST', path, {
        body: configMap(namespace, name, {}, { labels }),
      });
      return body;
    };
    return { path, labelled: `${path}?watch=true&labelSelector=w`, write };
  }

  test('resumes after the version of a list and shows every later change', async () => {
    const { path, labelled, write } = await collection();
    await write('before', { w: '1' });
    const list = await target().request('GET', `${path}?labelSelector=w`);
    await write('after', { w: '1' });
    await target().request('PATCH', `${path}/after`, { body: { data: { x: '1' } }, contentType: MERGE });
    await target().request('DELETE', `${path}/after`);
    const stream = await target().watch(`${labelled}&resourceVersion=${list.body.metadata.resourceVersion}`);
    expect(await take(stream, 3)).toEqual(['ADDED after', 'MODIFIED after', 'DELETED after']);
    stream.close();
  });

  test('starts with what exists when no version is given', async () => {
    const { labelled, write } = await collection();
    await write('a', { w: '1' });
    const stream = await target().watch(labelled);
    expect(await take(stream, 1)).toEqual(['ADDED a']);
    await write('b', { w: '1' });
    expect(await take(stream, 1)).toEqual(['ADDED b']);
    stream.close();
  });

  test('shows an object that enters or leaves the selection as added or deleted', async () => {
    const { path, labelled, write } = await collection();
    const { metadata } = await write('a', {});
    const stream = await target().watch(`${labelled}&resourceVersion=${metadata.resourceVersion}`);
    const label = (value: string | null) => {
      return target().request('PATCH', `${path}/a`, {
        body: { metadata: { labels: { w: value } } },
        contentType: MERGE,
      });
    };
    await label('1');
    await label('2');
    await label(null);
    expect(await take(stream, 3)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']);
    stream.close();
  });

  const whereStreamed = test.runIf(suite.streamsInitialState);
  whereStreamed('streams the initial state and marks its end with a bookmark', async () => {
    const { labelled, write } = await collection();
    await write('a', { w: '1' });
    const query = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const stream = await target().watch(`${labelled}${query}`);
    expect(await take(stream, 1)).toEqual(['ADDED a']);
    const end = await stream.next();
    expect(end?.type).toBe('BOOKMARK');
    expect(end?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    expect(Number(end?.object.metadata.resourceVersion)).toBeGreaterThan(0);
    await write('b', { w: '1' });
    expect(await take(stream, 1)).toEqual(['ADDED b']);
    stream.close();
  });

  test('refuses initial events without a version match', async () => {
    const { path } = await collection();
    const { code } = await target().request(
      'GET',
      `${path}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true`,
    );
    expect(code).toBe(422);
  });

  test('ends the stream in order after timeoutSeconds', async () => {
    const { labelled, write } = await collection();
    const { metadata } = await write('a', { w: '1' });
    const stream = await target().watch(
      `${labelled}&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`,
    );
    expect(await stream.next()).toBeUndefined();
  });

  test('sends a bookmark with a usable version before it ends when other objects have changed', async () => {
    const { labelled, write } = await collection();
    const { metadata } = await write('a', { w: '1' });
    const query = `&allowWatchBookmarks=true&timeoutSeconds=6&resourceVersion=${metadata.resourceVersion}`;
    const stream = await target().watch(`${labelled}${query}`);
    await write('unseen', {});
    const bookmark = await stream.next();
    expect([bookmark?.type, bookmark?.object.kind]).toEqual(['BOOKMARK', 'ConfigMap']);
    await write('b', { w: '1' });
    const resumed = await target().watch(
      `${labelled}&resourceVersion=${bookmark?.object.metadata.resourceVersion}`,
    );
    expect(await take(resumed, 1)).toEqual(['ADDED b']);
    stream.close();
    resumed.close();
  });

  test('shows metadata only where that is asked for', async () => {
    const { labelled, write } = await collection();
    await write('a', { w: '1' });
    const stream = await target().watch(
      labelled,
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    );
    const event = await stream.next();
    expect([event?.object.kind, event?.object.data]).toEqual(['PartialObjectMetadata', undefined]);
    stream.close();
  });

  test('answers a version it remembers no longer with an ERROR event of code 410', async () => {
    const { path, widget } = await widgets(target());
    await target().request('POST', path, { body: widget({ size: 1 }) });
    const stream = await target().watch(
      `${path}?watch=true&resourceVersion=${await suite.forgottenVersion()}`,
    );
    const event = await stream.next();
    expect([event?.type, event?.object.code, event?.object.reason]).toEqual(['ERROR', 410, 'Expired']);
    expect(await stream.next()).toBeUndefined();
  });
}
