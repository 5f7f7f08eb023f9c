// Many Canaries with commits and faults in virtual time; prints what grows from round to round. See docs/testing.md.
//   npm run soak -- [--canaries=200] [--rounds=24] [--per-commit=20]
import { runBundled } from './run-bundled.mjs';

await runBundled('test/soak/main.ts', [process.argv.slice(2)], ['--expose-gc']);
