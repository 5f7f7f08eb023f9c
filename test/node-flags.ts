const [major = 0] = process.versions.node.split('.').map(Number);

/**
 * V8 makes optimized code four times as late as usual: most of what tests run, they run too seldom for it to pay. A demo takes 3.2 s of processor time
 * with it, and 3.8 s without. The V8 of Node 22 and later counts calls instead.
 */
const lateOptimization =
  major < 22
    ? ['--interrupt-budget=500000']
    : ['--invocation-count-for-maglev=1600', '--invocation-count-for-turbofan=12000'];

/** A worker keeps the code of a hundred files, which V8 would look through for garbage again and again, and drop what was compiled of it. */
const rareCollection = [
  '--min-semi-space-size=32',
  '--max-semi-space-size=64',
  '--initial-old-space-size=1000',
  '--no-memory-reducer',
  '--no-flush-bytecode',
];

/** For processes of tests. */
export const nodeFlags: readonly string[] = [...lateOptimization, ...rareCollection];
