import { describe, expect, test } from 'vitest';
import { canaryDocument, sourceDocument } from '../../../test/documents/builders.ts';
import { documentRows } from '../../../test/documents/kinds.ts';
import { packStatus, unpackStatus } from '../canary/bookkeeping.ts';
import type { CanaryStatus } from '../canary/status.ts';
import type { KindName } from './kinds.ts';
import { parseCanary, parseKind, parseSource } from './parse.ts';

/** What a user or the cluster would hand over: JSON. */
function json(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object));
}

describe('documents', () => {
  test.each(documentRows.filter((row) => !row.refusedAt))('accepts $name', ({ object }) => {
    const result = parseKind(object.kind as KindName, json(object), { strict: true });
    expect(result).toMatchObject({ ok: true, warnings: [] });
  });

  test.each(documentRows.filter((row) => row.refusedAt))(
    'refuses $name at $refusedAt',
    ({ object, refusedAt }) => {
      const result = parseKind(object.kind as KindName, json(object), { strict: true });
      expect(result.ok).toBe(false);
      const paths = result.ok ? [] : result.problems.map((problem) => problem.path);
      expect(paths.map((path) => path.replace(/\.port$/, ''))).toContain(refusedAt?.replace(/\.port$/, ''));
    },
  );
});

describe('messages', () => {
  function messagesOf(object: unknown): string[] {
    const result = parseCanary(object);
    return result.ok ? [] : result.problems.map(({ path, message }) => `${path} ${message}`);
  }

  test.each([
    [{ provider: 'istoi' }, /^spec\.provider "istoi" is not one of apisix, .*; did you mean istio\?$/],
    [{ service: {} }, /^spec\.service\.port is missing$/],
    [{ service: { port: '80' } }, /^spec\.service\.port must be a number, is a string$/],
    [{ targetRef: [] }, /^spec\.targetRef must be an object, is a list$/],
    [
      { analysis: { interval: '1m', threshold: 1, stepWeight: 5, iterations: 5 } },
      /^spec\.analysis only one may be given of: .*; found .*iterations and .*stepWeight$/,
    ],
    [
      { analysis: { interval: '1m', stepWeight: 5 } },
      /^spec\.analysis needs exactly one of: interval \+ threshold \+ iterations, or /,
    ],
    [
      { analysis: { interval: 'soon', threshold: 1, stepWeight: 5 } },
      /^spec\.analysis\.interval must be a duration in minutes or seconds, such as 30s or 60m$/,
    ],
    [{ postPromotion: { threshold: -1 } }, /^spec\.postPromotion\.threshold must be at least 0$/],
    [{ postPromotion: { threshold: 0.5 } }, /^spec\.postPromotion\.threshold must be a whole number/],
    [{ service: { port: 80, targetPort: [1] } }, /targetPort must be a whole number or a string, is a list$/],
  ])('says what is wrong with %j', (spec, expected) => {
    expect(messagesOf(canaryDocument(spec))).toEqual([expect.stringMatching(expected)]);
  });

  test.each<[Parameters<typeof sourceDocument>[0], string]>([
    [{ url: 'git://a/b' }, 'spec.url must begin with http://, https:// or ssh://, or be user@host:path'],
    [
      { windows: [{ kind: 'deny', schedule: '0 18 * *', duration: '2h' }] },
      'spec.windows[0].schedule must be a cron expression such as 0 18 * * 5',
    ],
    [
      { windows: [{ kind: 'deny', schedule: '0 18 * * 5', duration: '2h', timeZone: 'Oslo, Norway' }] },
      'spec.windows[0].timeZone must be an IANA time zone such as Europe/Oslo',
    ],
    [
      { defaultNamespace: 'Shop' },
      'spec.defaultNamespace must be lower-case letters, digits and dashes, with a letter or digit at both ends',
    ],
    [
      { substitute: { variables: { '1st': 'x' } } },
      'spec.substitute.variables["1st"] the name must be letters, digits and _, without a digit at the beginning',
    ],
    [
      { ref: { commit: 'abc1234' } },
      'spec.ref.commit must be a full commit SHA (40 or 64 hexadecimal digits)',
    ],
  ])('say in words what a text must look like: %j', (spec, expected) => {
    const result = parseSource(sourceDocument(spec));
    const messages = result.ok ? [] : result.problems.map(({ path, message }) => `${path} ${message}`);
    expect(messages).toEqual([expected]);
  });

  test('never repeat a text value that may be secret', () => {
    const result = parseSource(
      sourceDocument({
        url: 'ftp://user:hunter2@host/',
        secretRef: { name: 7, password: 'hunter2' },
        renderer: 'hunter2'.repeat(10),
      }),
      { strict: true },
    );
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });

  test('name another kind, version or a missing name', () => {
    const result = parseCanary({ apiVersion: 'flagger.app/v1', kind: 'Kanary', metadata: {}, spec: {} });
    expect(result).toMatchObject({
      problems: [
        { path: 'apiVersion', message: 'must be flagger.app/v1beta1' },
        { path: 'kind', message: 'must be Canary' },
        { path: 'metadata.name', message: 'is missing' },
      ],
    });
  });

  test.each([[null], ['text'], [[]], [42]])('refuse %j without throwing', (value) => {
    expect(parseCanary(value)).toMatchObject({ ok: false });
  });

  test('are counted instead of listed beyond a bound', () => {
    const metrics = Array.from({ length: 500 }, () => ({}));
    const result = parseCanary(
      canaryDocument({ analysis: { interval: '1m', threshold: 1, stepWeight: 1, metrics } }),
    );
    expect(result.ok ? [] : result.problems).toHaveLength(51);
  });
});

test('a null is kept where any field may be, as the API server keeps it: in values of a chart it takes a default away', () => {
  const values = { probe: { httpGet: null, exec: { command: ['true'] } }, list: [null] };
  const parsed = parseSource(sourceDocument({ helm: { values, skipHooks: null } as never }));
  expect(parsed.ok && parsed.value.spec.helm).toEqual({ values });
});

describe('unknown fields', () => {
  const misspelt = canaryDocument({
    analysis: { interval: '1m', threshold: 1, stepWeight: 1, maxWieght: 50 },
  });

  test('are warnings with a hint, and do not reach the value', () => {
    const result = parseCanary(misspelt);
    expect(result).toMatchObject({
      ok: true,
      warnings: [
        {
          path: 'spec.analysis.maxWieght',
          message: 'is not a known field and would be dropped; did you mean maxWeight?',
        },
      ],
    });
    expect(JSON.stringify(result.ok && result.value)).not.toContain('maxWieght');
  });

  test('are problems when asked to be strict', () => {
    expect(parseCanary(misspelt, { strict: true })).toMatchObject({ ok: false, warnings: [] });
  });

  test('are found in lists and maps, and beside spec', () => {
    const result = parseCanary({
      ...canaryDocument({
        analysis: {
          interval: '1m',
          threshold: 1,
          iterations: 1,
          match: [{ method: { exact: 'GET' }, headers: { 'x-a': { exact: 'b', ignoreCase: true } } }],
        },
      }),
      sepc: {},
    });
    expect(result.warnings.map((warning) => warning.path)).toEqual([
      'spec.analysis.match[0].method',
      'spec.analysis.match[0].headers.x-a.ignoreCase',
      'sepc',
    ]);
  });

  test('of prototype names neither crash nor pollute', () => {
    const object = JSON.parse(
      JSON.stringify(canaryDocument()).replace(
        '"service"',
        '"__proto__":{"polluted":1},"constructor":{},"service"',
      ),
    );
    const result = parseCanary(object);
    expect(result.ok).toBe(true);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(result.warnings.map((warning) => warning.path)).toEqual(['spec.__proto__', 'spec.constructor']);
  });
});

describe('status', () => {
  test('is kept with fields of a later version', () => {
    const status = {
      phase: 'Promoting',
      lastKnownGood: {
        commit: 'c',
        digest: 'v1:d',
        promotedTime: '2026-01-01T00:00:00Z',
        record: 'r',
        more: 1,
      },
      run: { digest: 'v1:e', step: 2, anything: { deep: true } },
      later: 'field',
    };
    const result = parseCanary({ ...canaryDocument(), status });
    expect(result).toMatchObject({ ok: true, warnings: [] });
    expect(result.ok && result.value.status).toEqual(status);
  });

  test('is unpacked once, whoever asks for it first', () => {
    const status: CanaryStatus = { phase: 'Succeeded', specInForce: { generation: 1, spec: {} } };
    const stored = JSON.parse(JSON.stringify(packStatus(status))) as CanaryStatus;
    const first = unpackStatus(stored);
    const result = parseCanary({ ...canaryDocument(), status: stored });
    expect(result).toMatchObject({ ok: true, value: { status, storedStatus: stored } });
    expect(result.ok && result.value.status).toBe(first);
  });

  test('loses a broken field only, with a warning', () => {
    const status = { phase: 'Dancing', canaryWeight: 40, rejected: 'none' };
    const result = parseCanary({ ...canaryDocument(), status });
    expect(result.ok && result.value.status).toEqual({ canaryWeight: 40 });
    expect(result.warnings.map((warning) => warning.path)).toEqual(['status.phase', 'status.rejected']);
  });
});
