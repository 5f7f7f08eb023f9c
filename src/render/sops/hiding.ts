import { limits, shorten } from '../../api/limits.ts';
import { isSealed } from './envelope.ts';

/** Takes secrets out of messages, as they are and in base64. Very short ones stay: they would take ordinary words with them. */
export function createHiding(): { add(secrets: readonly string[]): void; hide(message: string): string } {
  const secrets = new Set<string>();
  let forms: readonly string[] | undefined;
  let sorted: readonly string[] | undefined;
  let left = limits.hidingSteps;
  return {
    add(more) {
      for (const secret of formsOf(more)) secrets.add(secret);
      forms = undefined;
      sorted = undefined;
    },
    hide(whole) {
      const message = shorten(whole, longestMessage);
      forms ??= [...secrets]
        .sort((a, b) => b.length - a.length)
        .flatMap((secret) => [secret, Buffer.from(secret).toString('base64')])
        .filter((form) => form.length >= shortestHidden);
      for (const form of forms) left -= searchSteps(message.length, form.length);
      if (left < 0)
        return 'is not shown: too many problems in a Source with too many secrets; see the first ones';
      const hidden = forms.reduce((text, form) => text.replaceAll(form, '***'), message);
      if (!hidden.endsWith(cut)) return hidden;
      sorted ??= [...forms].sort();
      return `${withoutStart(hidden.slice(0, -cut.length), sorted)}${cut}`;
    },
  };
}

const shortestHidden = 4;

/** Characters of a message that are shown; a text of others in it may be as long as a file. */
const longestMessage = 2_000;

/** Longer texts may nearly fit at each place of a message, and are compared there almost to their end. */
const longestQuick = 250;

/** Steps of searching a message for a text, by their characters. */
function searchSteps(message: number, text: number): number {
  if (text > message) return 1;
  return text > longestQuick ? message * text : message;
}

/** The end of a message that was cut. */
const cut = '…';

/** Characters before a cut that may be the start of a secret. */
const longestStart = 1_000;

/** A text without the start of a secret at its end. `sorted`: forms of all secrets, so that it is not compared with each of them. */
function withoutStart(text: string, sorted: readonly string[]): string {
  for (let length = Math.min(longestStart, text.length); length >= shortestHidden; length -= 1) {
    const start = text.slice(-length);
    let [from, to] = [0, sorted.length];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if ((sorted[middle] ?? '') < start) from = middle + 1;
      else to = middle;
    }
    if (sorted[from]?.startsWith(start)) return `${text.slice(0, -length)}***`;
  }
  return text;
}

/** Secrets as they may turn up in messages: whole, and line by line, also as programs quote them and with their blanks made one. */
function formsOf(secrets: readonly string[]): string[] {
  return secrets
    .flatMap((secret) => [secret, ...secret.split('\n').map((line) => line.trim())])
    .filter((text) => !isSealed(text))
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1), text.replace(/\s+/g, ' ').trim()]);
}
