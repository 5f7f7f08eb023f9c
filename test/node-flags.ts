/**
 * For processes of tests: V8 makes optimized code four times as late as usual. Most of what they run, they run too seldom for it to pay; a demo takes 3.2 s
 * of processor time with it, and 3.8 s without.
 */
export const nodeFlags: readonly string[] = ['--interrupt-budget=500000'];
