import { expect, it } from 'vitest';
import { readYaml } from './yaml.ts';

it.each(['- ', '? ', '[', '{a: ', '- ? '])(
  'a text that is nested thousands deep is refused before it can end the process: %j',
  (level) => {
    expect(() => readYaml(level.repeat(4_000))).toThrow('nested too deeply');
  },
);

it('reads what people write', () => {
  const text = 'metrics:\n  - name: a\n    thresholdRange: {max: [1, 2]}\n    query: |\n      sum(x)\n';
  expect(readYaml(text)).toEqual({
    metrics: [{ name: 'a', thresholdRange: { max: [1, 2] }, query: 'sum(x)\n' }],
  });
  expect(() => readYaml('a: &x [1]\nb: *x')).toThrow();
});
