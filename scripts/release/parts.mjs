// The smaller parts of a release: the chart, the build file of the image, checksums and provenance.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { extract } from 'tar';
import { root } from '../ensure.mjs';
import { buildModule } from '../programs-build.mjs';
import { archive } from './archive.mjs';

/** @typedef {{ commit: string, timeSeconds: number, isChanged: boolean }} Source the commit that is released */

/**
 * Packs the chart with the helm that Holdfast renders with. Helm writes the time of day into its archives, so what it packed is packed once more.
 * @param {{ work: string, image: string, file: string }} order `image`: what `image` of the values is without any; '' leaves it
 */
export async function packChart({ work, image, file }) {
  const { helm } = await buildModule('programs/helm');
  const [chart, packed, unpacked] = ['chart', 'packed', 'unpacked'].map((name) => join(work, name));
  cpSync(join(root, 'deploy/chart'), chart, { recursive: true });
  if (image) {
    const values = readFileSync(join(chart, 'values.yaml'), 'utf8');
    const named = values.replace(/^image: ''$/m, `image: ${image}`);
    if (named === values) throw new Error('deploy/chart/values.yaml has no line "image: \'\'"');
    writeFileSync(join(chart, 'values.yaml'), named);
  }
  mkdirSync(unpacked);
  execFileSync(helm, ['package', chart, '--destination', packed], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [name = ''] = readdirSync(packed);
  await extract({ cwd: unpacked, file: join(packed, name), strip: 1 });
  await archive(unpacked, 'holdfast', file);
}

/**
 * The order to build the image for both architectures, for `docker buildx bake -f` in the folder of the source.
 * @param {{ version: string, image: string, source: Source }} release
 */
export function bakeFile({ version, image, source }) {
  const labels = {
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.revision': source.commit,
    'org.opencontainers.image.created': new Date(source.timeSeconds * 1000).toISOString(),
  };
  const holdfast = {
    context: '.',
    platforms: ['linux/amd64', 'linux/arm64'],
    tags: [image],
    labels,
    args: { SOURCE_DATE_EPOCH: String(source.timeSeconds) },
    attest: ['type=provenance,mode=max', 'type=sbom'],
    output: ['type=image,push=true,rewrite-timestamp=true'],
  };
  return `${JSON.stringify({ group: { default: { targets: ['holdfast'] } }, target: { holdfast } }, null, 2)}\n`;
}

/** @param {string} folder */
function digests(folder) {
  return readdirSync(folder)
    .sort()
    .map((name) => ({
      name,
      digest: {
        sha256: createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      },
    }));
}

/**
 * Lines for `sha256sum --check`.
 * @param {string} folder
 */
export function checksums(folder) {
  return digests(folder)
    .map(({ name, digest }) => `${digest.sha256}  ${name}\n`)
    .join('');
}

/**
 * How the files of a folder came to be: an in-toto statement with SLSA's predicate, to be signed. It has no time of its own.
 * @param {{ folder: string, version: string, source: Source, bases: ReadonlyArray<object>, parameters: Readonly<Record<string, unknown>> }} release
 */
export function provenance({ folder, version, source, bases, parameters }) {
  const { platforms, registry } = parameters;
  const file = (name) => ({
    uri: name,
    digest: {
      sha256: createHash('sha256')
        .update(readFileSync(join(root, name)))
        .digest('hex'),
    },
  });
  const locks = ['package-lock.json', 'programs/helm/go.sum'].map(file);
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: digests(folder),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://holdfast.dev/release/v1',
        externalParameters: { version, registry, ...(platforms === undefined ? {} : { platforms }) },
        internalParameters: { node: process.version, changedSinceCommit: source.isChanged },
        resolvedDependencies: [
          { uri: 'git+file:.', digest: { gitCommit: source.commit } },
          ...locks,
          ...bases,
        ],
      },
      runDetails: { builder: { id: parameters['builder-id'] } },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
}
