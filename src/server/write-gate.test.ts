import { describe, expect, it } from 'vitest';
import { eventually } from '../cluster/testing/manual-clock.ts';
import { createHttpClient } from '../http/client.ts';
import { startTestServer } from '../http/testing/servers.ts';
import type { HttpClient } from '../http/types.ts';
import { createWriteGate, whileLeading } from './write-gate.ts';

function held<T>() {
  let end: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    end = resolve;
  });
  return { promise, end };
}

describe('writes of the copy that leads', () => {
  it('are settled when the last write has its answer, including a refusal', async () => {
    let leads = true;
    const gate = createWriteGate(() => leads);
    const first = held<string>();
    const sent = gate.send(() => first.promise);
    const refused = gate.send(() => Promise.reject(new Error('conflict')));
    leads = false;
    let isSettled = false;
    const settled = gate.settled().then(() => {
      isSettled = true;
    });
    await expect(refused).rejects.toThrow('conflict');
    expect(isSettled).toBe(false);
    first.end('stored');
    await settled;
    expect(await sent).toBe('stored');
  });

  it('are refused, and never sent, from the moment on that it does not lead (S20)', async () => {
    const gate = createWriteGate(() => false);
    let sent = 0;
    await expect(gate.send(async () => (sent += 1))).rejects.toMatchObject({ kind: 'aborted' });
    expect(sent).toBe(0);
  });

  it('hold for webhooks, alerts and Git, too', async () => {
    const asked: string[] = [];
    const http = new Proxy({} as HttpClient, { get: (_, verb) => async () => void asked.push(String(verb)) });
    let leads = true;
    const client = whileLeading(
      http,
      createWriteGate(() => leads),
    );
    await client.send({ url: 'http://hook.example.com/gate' });
    leads = false;
    const aborted = { code: 'Aborted', host: 'hook.example.com' };
    await expect(client.send({ url: 'http://hook.example.com/gate' })).rejects.toMatchObject(aborted);
    await expect(client.open({ url: 'http://hook.example.com/' })).rejects.toMatchObject(aborted);
    await expect(client.send({ url: 'no address' })).rejects.toMatchObject({ code: 'Aborted' });
    expect(asked).toEqual(['send']);
  });

  it('are asked for again before the first byte: a webhook, an alert or a push that waited for its turn is not sent after the loss', async () => {
    const answers: Array<() => void> = [];
    const server = await startTestServer((_request, response) => void answers.push(() => response.end('ok')));
    const http = createHttpClient({ allowLoopback: true, maxConcurrentPerHost: 1 });
    let leads = true;
    const client = whileLeading(
      http,
      createWriteGate(() => leads),
    );
    const { url } = server;
    const sent = client.send({ url });
    const queued = [
      client.send({ url, method: 'POST', body: '{}' }),
      client.open({ url: `${url}/git-receive-pack`, method: 'POST', body: 'pack' }),
    ].map((promise) => promise.catch((error: unknown) => error));
    await eventually(() => answers.length === 1, 'the first request came');
    leads = false;
    answers[0]?.();
    expect(await sent).toMatchObject({ status: 200 });
    for (const refused of await Promise.all(queued)) expect(refused).toMatchObject({ code: 'Aborted' });
    expect(answers).toHaveLength(1);
    await http.close();
    await server.close();
  });
});
