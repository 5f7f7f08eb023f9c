import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { toolsFromEnvironment } from './bed/tools.ts';

const run = promisify(execFile);
const { promtool } = toolsFromEnvironment();
const folder = resolve(import.meta.dirname, '../../deploy/prometheus');

test('the alarms are rules that Prometheus takes', async () => {
  const { stdout } = await run(promtool, ['check', 'rules', 'rules.yaml'], { cwd: folder });
  expect(stdout).toMatch(/SUCCESS: 9 rules found/);
});

test('the alarms stand when something is wrong, and only then', async () => {
  const { stdout } = await run(promtool, ['test', 'rules', 'rules.test.yaml'], { cwd: folder });
  expect(stdout).toMatch(/SUCCESS/);
});
