// What a bundle of esbuild holds of other people's packages: their licences as one text, and a list of them for machines (CycloneDX).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** @typedef {{ name: string, version: string, license: string, text: string, source: string, integrity: string | undefined, imports: string[], direct: boolean }} BundledPackage */

/** Licences that ask for no more than their text; what else may be in the bundle is named with its package. */
const allowedLicenses = new Set([
  'Apache-2.0',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  // tweetnacl: in the public domain, without any condition.
  'Unlicense',
  '(MIT AND BSD-3-Clause)',
  '(MIT AND Zlib)',
]);
/** The LGPL asks for both licences' texts, the source, and a way to put another version in its place: `header` says how. */
const allowedPackages = new Map([['openpgp', 'LGPL-3.0-or-later']]);
/** Written as the package does, and as SPDX does. */
const spdx = new Map([['LGPL-3.0+', 'LGPL-3.0-or-later']]);

/**
 * Packages in the bundle, by name and version. Throws for one without a licence text, with a licence that is not allowed, or
 * that is not among the dependencies of a release.
 * @param {import('esbuild').Metafile} metafile
 * @param {string} folder where the package.json, package-lock.json and node_modules of the bundle are
 * @returns {BundledPackage[]}
 */
export function bundledPackages(metafile, folder = root) {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages;
  const byPath = new Map();
  const files = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((file) => (inputs[file]?.bytesInOutput ?? 0) > 0),
  );
  const direct = importedByUs(metafile, files);
  for (const file of files) {
    const path = packagePath(file);
    if (path === undefined) continue;
    const found = byPath.get(path) ?? {
      ...readPackage(folder, path, lock[path]),
      imports: new Set(),
      direct: direct.has(path),
    };
    byPath.set(path, found);
    for (const imported of metafile.inputs[file]?.imports ?? []) {
      const other = packagePath(imported.path);
      if (other !== undefined && other !== path && !imported.external) found.imports.add(other);
    }
  }
  const all = [...byPath.values()];
  const forDevelopment = all.find(({ dev }) => dev);
  if (forDevelopment)
    throw new Error(`${forDevelopment.name} is bundled, but only devDependencies ask for it`);
  for (const one of all)
    one.imports = [...one.imports]
      .flatMap((path) => (byPath.has(path) ? [purlOf(byPath.get(path))] : []))
      .sort();
  return all.sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

/** @param {string} file */
function packagePath(file) {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];
}

/** @param {string} folder @param {string} path @param {{ integrity?: string, dev?: boolean } | undefined} locked */
function readPackage(folder, path, locked) {
  const { name, version, licenses, repository, ...more } = JSON.parse(
    readFileSync(join(folder, path, 'package.json'), 'utf8'),
  );
  // ssh2 names its licence as npm did before 2014.
  const license = more.license ?? (licenses?.length === 1 ? licenses[0].type : undefined);
  const id = spdx.get(license) ?? license;
  if (!allowedLicenses.has(id) && !(id && allowedPackages.get(name) === id))
    throw new Error(`${name} ${version} is bundled, and its licence ${id} is not allowed in the bundle`);
  const text = licenseText(join(folder, path), name);
  if (text === undefined)
    throw new Error(
      `${name} ${version} is bundled without the text of its licence: add scripts/licenses/${name}.txt`,
    );
  const source = sourceOf(typeof repository === 'string' ? repository : repository?.url);
  return { name, version, license: id, text, source, integrity: locked?.integrity, dev: locked?.dev };
}

/** @param {string} folder @param {string} name */
function licenseText(folder, name) {
  const files = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .sort();
  if (files.length > 0)
    return files.map((file) => tidy(readFileSync(join(folder, file), 'utf8'))).join('\n\n');
  const ours = readdirSync(join(root, 'scripts/licenses')).find((file) => file === `${name}.txt`);
  return ours && tidy(readFileSync(join(root, 'scripts/licenses', ours), 'utf8'));
}

/** @param {string} text */
function tidy(text) {
  return text.replaceAll('\r\n', '\n').replace(/^\s*\n|\s+$/g, '');
}

/** @param {string | undefined} repository */
function sourceOf(repository = '') {
  const url = repository
    .replace(/^git\+/, '')
    .replace(/^(git|ssh):\/\/(git@)?/, 'https://')
    .replace(/\.git$/, '');
  if (url.startsWith('https://') || url.startsWith('http://')) return url;
  return url ? `https://github.com/${url.replace(/^github:/, '')}` : '';
}

/**
 * Packages that the program's own files import.
 * @param {import('esbuild').Metafile} metafile
 * @param {readonly string[]} files that are in the bundle
 * @returns {Set<string>} their paths
 */
function importedByUs(metafile, files) {
  const ours = files.filter((file) => packagePath(file) === undefined);
  const paths = ours.flatMap((file) =>
    (metafile.inputs[file]?.imports ?? []).map(({ path }) => packagePath(path)),
  );
  return new Set(paths.filter((path) => path !== undefined));
}

/**
 * All licences as one text. `comments` are what esbuild found in the sources.
 * @param {BundledPackage[]} packages
 * @param {string} comments
 */
export function notices(packages, comments) {
  const list = packages.map(({ name, version, license, source }) =>
    [`${name} ${version}`.padEnd(40), license.padEnd(24), source].join('').trimEnd(),
  );
  /** @type {Map<string, string[]>} */
  const byText = new Map();
  for (const { name, version, text } of packages)
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version}`]);
  const texts = [...byText].map(([text, names]) => `${rule}\n${names.join('\n')}\n\n${text}\n`);
  const gpl = tidy(readFileSync(join(root, 'scripts/licenses/GPL-3.0.txt'), 'utf8'));
  return [
    header,
    list.join('\n'),
    '',
    ...texts,
    `${rule}\nThe GNU General Public License, which the LGPL refers to\n\n${gpl}\n`,
    `${rule}\nNotices in the sources\n\n${comments.replace(/^Bundled license information:\s*/, '').trim()}\n`,
  ].join('\n');
}

const rule = '='.repeat(80);
const header = `The program files of Holdfast contain the packages below, each under its own licence.

openpgp, and the part of isomorphic-git that joins paths, are under the GNU Lesser General Public License, version 3 or later. They are used
unchanged. Their source is at the addresses below, by the version named. The program can be built with another version of them: put it
into package.json of Holdfast's source, then run "npm install" and "npm run build".
`;

/**
 * The packages as CycloneDX 1.6: the same bundle gives the same bytes.
 * @param {BundledPackage[]} packages
 * @param {{ name: string, version: string, license: string }} program
 */
export function billOfMaterials(packages, program) {
  const self = `pkg:npm/${program.name}@${program.version}`;
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': self,
        name: program.name,
        version: program.version,
        licenses: [{ license: { id: program.license } }],
        purl: self,
      },
    },
    components: packages.map(component),
    dependencies: [
      { ref: self, dependsOn: packages.filter((one) => one.direct).map(purlOf) },
      ...packages.map((one) => ({ ref: purlOf(one), dependsOn: one.imports })),
    ],
  };
}

/** @param {BundledPackage} one */
function component(one) {
  const [group, name] = one.name.startsWith('@') ? one.name.split('/') : [undefined, one.name];
  const [algorithm, hash] = one.integrity?.split('-') ?? [];
  return {
    type: 'library',
    'bom-ref': purlOf(one),
    ...(group ? { group } : {}),
    name,
    version: one.version,
    ...(algorithm === 'sha512' && hash
      ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }] }
      : {}),
    licenses: one.license.includes(' ')
      ? [{ expression: one.license.replace(/^\(|\)$/g, '') }]
      : [{ license: { id: one.license } }],
    purl: purlOf(one),
    ...(one.source ? { externalReferences: [{ type: 'vcs', url: one.source }] } : {}),
  };
}

/** @param {{ name: string, version: string }} one */
function purlOf({ name, version }) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** @param {string} a @param {string} b */
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
