// For workers of tests where Node itself runs TypeScript: packages as vitest.config.ts has them for Vite's runner, and a cache of what is compiled.
import { flushCompileCache, registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { entries } from '../scripts/bundle/entries.mjs';

const root = join(import.meta.dirname, '..');
const urls = new Map(
  Object.entries(entries).map(([name, path]) => [name, pathToFileURL(join(root, path)).href]),
);

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = !context.parentURL?.includes('/node_modules/');
    return next((isOurs && urls.get(specifier)) || specifier, context);
  },
});

/** By then the first files have loaded most of what there is. vitest ends a worker by force, which writes nothing. */
const FLUSH_MS = 10_000;
setTimeout(flushCompileCache, FLUSH_MS).unref();
