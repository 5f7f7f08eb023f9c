import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Answer } from '../http/http-server.ts';

/** Put in by scripts/build.mjs: the page of src/dashboard as one file. Not there when the sources run as they are. */
declare const HOLDFAST_DASHBOARD_PAGE: string | undefined;

const notBuilt =
  '<!doctype html><html lang="en"><title>Holdfast</title><p>The page of the dashboard is part of the built program: run <code>npm run build</code>, then <code>node dist/main.js</code>.';

/** The one page, with the policy that lets nothing run but what was built into it, and nothing be asked of any other server. */
export function pageAnswer(): Answer {
  const html = typeof HOLDFAST_DASHBOARD_PAGE === 'string' ? HOLDFAST_DASHBOARD_PAGE : notBuilt;
  const bytes = gzipSync(html, { level: 9 });
  return {
    status: 200,
    body: '',
    stream: (response) => response.end(bytes),
    contentType: 'text/html; charset=utf-8',
    headers: {
      'content-encoding': 'gzip',
      'content-security-policy': [
        "default-src 'none'",
        `script-src ${hashesOf(html, 'script')}`,
        `style-src ${hashesOf(html, 'style')}`,
        "connect-src 'self'",
        'img-src data:',
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ].join('; '),
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      'referrer-policy': 'no-referrer',
    },
  };
}

function hashesOf(html: string, tag: 'script' | 'style'): string {
  const texts = [...html.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))];
  const hashes = texts.map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  );
  return hashes.length > 0 ? hashes.join(' ') : "'none'";
}
