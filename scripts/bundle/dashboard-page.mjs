// The page of the dashboard as one HTML file: script and style inside, nothing to be fetched from anywhere.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Builds src/dashboard. The metafile says what was bundled, as that of any other bundle.
 * @returns {Promise<{ html: string, metafile: import('esbuild').Metafile, comments: string }>}
 */
export async function buildPage() {
  const result = await build({
    absWorkingDir: root,
    entryPoints: ['src/dashboard/main.tsx', 'src/dashboard/style.css'],
    // A name that no file of the program has: both are looked up by their path.
    outdir: 'dist/dashboard',
    write: false,
    bundle: true,
    format: 'esm',
    target: ['chrome115', 'firefox121', 'safari17'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'external',
    metafile: true,
    logLevel: 'warning',
  });
  const text = (/** @type {string} */ end) =>
    result.outputFiles.find(({ path }) => path.endsWith(end))?.text.trim() ?? '';
  const script = text('main.js');
  const style = text('style.css');
  // The page's own text is all that may end them.
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style))
    throw new Error('the page of the dashboard holds text that ends its own script or style');
  const template = await readFile(`${root}src/dashboard/page.html`, 'utf8');
  const html = template.replace('/* style */', () => style).replace('/* script */', () => script);
  return { html, metafile: result.metafile, comments: text('main.js.LEGAL.txt') };
}
