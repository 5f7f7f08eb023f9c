import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programs } from './programs.ts';

/** A shell at a terminal, whose completions come from the program. */
export interface InteractiveShell {
  /** Types keys (`\t` completes) and presses Enter; the words that the shell then gave to the program. */
  type(keys: string): Promise<string[]>;
  close(): void;
}

/** How each shell is started so that it completes at once, with nothing of this machine's settings. */
const shells = {
  bash: {
    command: (home: string) => `bash --noprofile --rcfile ${home}/.bashrc -i`,
    rc: { '.bashrc': 'PS1="> "\neval "$(holdfast completion bash)"\n' },
  },
  zsh: {
    command: () => `${programs.shells}/bin/zsh -i`,
    rc: {
      '.zshrc': [
        `module_path=(${programs.shells}/usr/lib/*/zsh/*(N))`,
        `fpath=(${programs.shells}/usr/share/zsh/functions/**/(N) $fpath)`,
        'PS1="> "; bindkey -e; unsetopt zle_bracketed_paste',
        'autoload -U compinit; compinit -u -D',
        'eval "$(holdfast completion zsh)"\n',
      ].join('\n'),
    },
  },
  fish: {
    command: (home: string) =>
      `${programs.shells}/usr/bin/fish --no-config -i -C "source ${home}/config.fish"`,
    rc: {
      'config.fish': `set -p fish_function_path ${programs.shells}/usr/share/fish/functions\nfunction fish_prompt; echo '> '; end\nholdfast completion fish | source\n`,
    },
  },
} as const;

/** A shell of which tests type command lines. */
export type ShellName = keyof typeof shells;

/** Installs the built program as `holdfast` and as kubectl's plug-in into a folder; `holdfast` prints the words of what it is not asked as a completion. */
export function installProgram(main: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(main, 0o755);
  for (const name of ['kubectl-holdfast', 'kubectl_complete-holdfast']) symlinkSync(main, join(folder, name));
  const script = `#!/bin/sh
case "$1" in __complete | completion) exec ${JSON.stringify(process.execPath)} ${JSON.stringify(main)} "$@" ;; esac
for word in "$@"; do printf '<%s>\\n' "$word"; done
echo ended
`;
  writeFileSync(join(folder, 'holdfast'), script, { mode: 0o755 });
}

/** Starts a shell at a terminal of its own, which `script` of util-linux makes. `home`: an empty folder. */
export async function startShell(
  name: ShellName,
  { home, bin, env = {} }: { home: string; bin: string; env?: Readonly<Record<string, string>> },
): Promise<InteractiveShell> {
  const { command, rc } = shells[name];
  mkdirSync(home, { recursive: true });
  for (const [file, text] of Object.entries(rc)) writeFileSync(join(home, file), text);
  const child: ChildProcess = spawn('script', ['-qefc', command(home), '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...{ PATH: `${bin}:${process.env.PATH}`, HOME: home, ZDOTDIR: home, TERM: 'dumb', SHELL: '/bin/sh' },
      LD_LIBRARY_PATH: join(programs.shells, 'usr/lib/x86_64-linux-gnu'),
      ...env,
    },
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));

  async function until(found: () => boolean, what: string): Promise<void> {
    const endMs = Date.now() + 50_000;
    while (!found()) {
      if (Date.now() > endMs || child.exitCode !== null)
        throw new Error(`${name}: ${what}; printed: ${output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function type(keys: string): Promise<string[]> {
    const from = output.length;
    child.stdin?.write(`${keys}\r`);
    await until(() => /^ended\r?$/m.test(output.slice(from)), `no end of ${JSON.stringify(keys)}`);
    return [...output.slice(from).matchAll(/^<(.*)>\r?$/gm)].map(([, word = '']) => word);
  }

  // What is typed before the shell reads keys may get lost.
  await until(() => output.includes('>'), 'no prompt');
  return { type, close: () => void child.kill('SIGKILL') };
}
