import { expect, it } from 'vitest';
import { withChange } from './traffic.ts';

const weights = (primary: number, canary: number) => [
  { name: 'web-primary', weight: primary },
  { name: 'web-canary', weight: canary },
];

it.each<[string, unknown, unknown, unknown, unknown]>([
  [
    'a field, and not what else differs',
    { timeout: '1s', rules: [{ retries: 1, backends: weights(60, 40) }] },
    { timeout: '1.5s', rules: [{ backends: weights(60, 40) }] },
    { timeout: '1.5s', rules: [{ backends: weights(100, 0) }] },
    { timeout: '1s', rules: [{ retries: 1, backends: weights(100, 0) }] },
  ],
  ['a field that goes', { mirror: 'a', hosts: [] }, { mirror: 'a' }, {}, { hosts: [] }],
  [
    'a list that gets shorter',
    { services: [1, 2] },
    { services: [1, 2] },
    { services: [1] },
    { services: [1] },
  ],
  [
    'no list with ports of others',
    { selector: 'canary', ports: [90, 9090] },
    { selector: 'canary', ports: [90] },
    { selector: 'primary', ports: [80] },
    { selector: 'primary', ports: [90, 9090] },
  ],
])('changes %s', (_, live, from, to, changed) => {
  expect(withChange(live, from, to)).toEqual(changed);
});
