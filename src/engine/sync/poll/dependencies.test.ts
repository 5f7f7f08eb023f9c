import { describe, expect, it } from 'vitest';
import type { Source } from '../../../api/source/source.ts';
import { whyItWaits } from './dependencies.ts';

const ready = { type: 'Ready', status: 'True', reason: 'Applied', message: '' } as const;

function source(
  name: string,
  dependsOn: string[] = [],
  more: Partial<Source['status'] & object> = {},
): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name, namespace: 'shop', generation: 1 },
    spec: {
      url: `https://git.example.com/${name}.git`,
      ref: { branch: 'main' },
      dependsOn: dependsOn.map((one) => ({ name: one })),
    },
    status: { observedGeneration: 1, conditions: [{ ...ready }], appliedCommit: 'c1', ...more },
  };
}

const why = (one: Source, others: Source[]) => whyItWaits(one, [one, ...others], 'c2')?.message;

describe('a Source that depends on others', () => {
  it('goes on once all of them are Ready with a commit', () => {
    expect(why(source('app', ['base', 'crds']), [source('base'), source('crds')])).toBeUndefined();
    expect(why(source('app'), [])).toBeUndefined();
  });

  it.each<[string, Source[], RegExp]>([
    ['is not there', [], /no Source shop\/base/],
    [
      'is not Ready',
      [source('base', [], { conditions: [{ ...ready, status: 'False', reason: 'Forbidden' }] })],
      /not Ready \(Forbidden\)/,
    ],
    ['was not read yet', [source('base', [], { conditions: [] })], /is not Ready/],
    ['changed just now', [source('base', [], { observedGeneration: 0 })], /last change/],
    [
      'has applied nothing',
      [{ ...source('base'), status: { observedGeneration: 1, conditions: [{ ...ready }] } }],
      /no commit/,
    ],
  ])('waits while one %s', (_, others, message) => {
    expect(why(source('app', ['base']), others)).toMatch(message);
  });

  it('waits for the same commit of the same repository and ref', () => {
    const app = source('app', ['base']);
    const same = (appliedCommit: string): Source => ({
      ...source('base', [], { appliedCommit }),
      spec: { ...app.spec, dependsOn: [] },
    });
    expect(why(app, [same('c1')])).toContain('not yet at c2');
    expect(why(app, [same('c2')])).toBeUndefined();
  });

  it('waits for the same commit also where the other one treats a rewritten history otherwise', () => {
    const app = source('app', ['base']);
    const ref = { rewrite: 'allow', branch: 'main' } as const;
    const base = { ...source('base'), spec: { ...app.spec, ref, dependsOn: [] } };
    expect(why(app, [base])).toContain('not yet at c2');
  });

  it('is told how a circle goes, and others that lead into it are not said to be in it', () => {
    const others = [source('b', ['c']), source('c', ['a'])];
    expect(why(source('a', ['b']), others)).toContain('shop/a -> shop/b -> shop/c -> shop/a');
    expect(why(source('out', ['a']), [source('a', ['b']), ...others])).toBeUndefined();
    expect(why(source('self', ['self']), [])).toContain('shop/self -> shop/self');
  });

  it('is judged however many depend on each other', () => {
    const chain = Array.from({ length: 20_000 }, (_, index) => source(`s${index}`, [`s${index + 1}`]));
    const end = source('s20000');
    expect(why(source('s0', ['s1']), [...chain, end])).toBeUndefined();
    expect(why(source('s0', ['s1']), [...chain, source('s20000', ['s0'])])).toContain('s20000 -> shop/s0');
  });
});
