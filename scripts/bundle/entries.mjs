/**
 * Packages that are bundled from another file than the one that Node would load, which is CommonJS, so that a bundler can leave nothing out of it, or
 * is not minified. Tests load these files, too. isomorphic-git is imported as a namespace: its default export holds all of it. Paths from the root of the repository.
 */
export const entries = {
  undici: './scripts/bundle/undici.mjs',
  'isomorphic-git': './node_modules/isomorphic-git/index.js',
  '@opentelemetry/api': './scripts/bundle/opentelemetry.mjs',
  semver: './scripts/bundle/semver.mjs',
  ssh2: './scripts/bundle/ssh2.mjs',
  // As its makers minify it.
  openpgp: './node_modules/openpgp/dist/node/openpgp.min.mjs',
};
