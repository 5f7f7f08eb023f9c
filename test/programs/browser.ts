import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { programs } from './programs.ts';

/** Starts Debian's Chromium, with the libraries that were unpacked beside it. */
export function startBrowser(): Promise<Browser> {
  const libraries = ['x86_64-linux-gnu', 'aarch64-linux-gnu']
    .map((name) => join(programs.chromium, 'usr/lib', name))
    .filter((path) => existsSync(path))
    .flatMap((path) => [path, join(path, 'pulseaudio')]);
  return chromium.launch({
    executablePath: join(programs.chromium, 'usr/lib/chromium/chromium-headless-shell'),
    // A container has neither user namespaces for a sandbox, nor a graphics card, nor much shared memory.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
    env: { ...process.env, LD_LIBRARY_PATH: libraries.join(':') },
  });
}
