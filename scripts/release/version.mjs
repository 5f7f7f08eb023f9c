// The version is that of package.json. Where manifests, docs and examples have to name it, it is written here.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { valid } from 'semver';

const number = String.raw`\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]*[0-9A-Za-z])?`;
/** How text names the version of Holdfast: images, packages of a release, and the chart's own lines. */
const named = [
  new RegExp(String.raw`(?<=\bholdfast(?:-ci)?:v)${number}`, 'g'),
  new RegExp(String.raw`(?<=\bnewTag: v)${number}`, 'g'),
  new RegExp(
    String.raw`(?<=\bholdfast-(?:(?:npm|chart)-)?)${number}(?=-(?:linux|darwin)|\.tgz|\.intoto)`,
    'g',
  ),
];
const chartLines = new RegExp(`(?<=^(?:appVersion|version): )${number}$`, 'gm');

/**
 * Every place where a file that git knows names the version of Holdfast, package.json apart.
 * @param {string} root
 * @returns {Array<{ file: string, found: string }>}
 */
export function versionPlaces(root) {
  return namingFiles(root).flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return patternsOf(file).flatMap((pattern) =>
      [...text.matchAll(pattern)].map(([found]) => ({ file, found })),
    );
  });
}

/**
 * Writes another version everywhere. Throws RangeError for what is none.
 * @param {string} root
 * @param {string} version
 * @param {readonly string[]} files those that may name it
 * @returns {string[]} the files that changed
 */
export function setVersion(root, version, files = namingFiles(root)) {
  if (valid(version) !== version || version.includes('+'))
    throw new RangeError(`--set-version ${version}: use three numbers, as in 0.2.0 or 1.0.0-rc.1`);
  const changed = files.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const next = patternsOf(file).reduce((result, pattern) => result.replace(pattern, version), text);
    if (next !== text) writeFileSync(join(root, file), next);
    return next !== text;
  });
  for (const file of ['package.json', 'package-lock.json']) {
    const content = JSON.parse(readFileSync(join(root, file), 'utf8'));
    content.version = version;
    if (content.packages) content.packages[''].version = version;
    writeFileSync(join(root, file), `${JSON.stringify(content, null, 2)}\n`);
  }
  return ['package.json', 'package-lock.json', ...changed];
}

/** @param {string} file */
function patternsOf(file) {
  return file === 'deploy/chart/Chart.yaml' ? [...named, chartLines] : named;
}

/**
 * What people read or apply. The changelog names versions of the past.
 * @param {string} root
 * @returns {string[]}
 */
export function namingFiles(root) {
  const patterns = [
    '*.md',
    '*.yaml',
    '*.yml',
    '*.json',
    '*Dockerfile*',
    ':!package*.json',
    ':!**/testdata/**',
    ':!CHANGELOG.md',
  ];
  return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\0')
    .filter(Boolean);
}
