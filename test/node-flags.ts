const [major = 0] = process.versions.node.split('.').map(Number);

/**
 * For processes of tests: V8 makes optimized code four times as late as usual. Most of what they run, they run too seldom for it to pay; a demo takes 3.2 s
 * of processor time with it, and 3.8 s without. The V8 of Node 24 counts calls instead.
 */
export const nodeFlags: readonly string[] =
  major < 24
    ? ['--interrupt-budget=500000']
    : ['--invocation-count-for-maglev=1600', '--invocation-count-for-turbofan=12000'];
