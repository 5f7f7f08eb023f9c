import { useEffect, useRef, useState } from 'preact/hooks';
import { request } from './connection.ts';
import { Sign, When } from './parts.tsx';
import type { CanaryView, Request } from './views.ts';

/** What can be asked for now, and what came of what was asked. */
export function Requests({
  kind,
  row,
  requests,
  answers = {},
}: {
  kind: 'Canary' | 'Source';
  row: { readonly namespace: string; readonly name: string };
  requests: readonly Request[];
  answers?: CanaryView['status']['answers'];
}) {
  const [chosen, choose] = useState<Request>();
  const [said, say] = useState('');
  const { namespace, name } = row;

  async function ask({ command, revision }: Request): Promise<void> {
    choose(undefined);
    say(`${command}: asked…`);
    const problem = await request({ kind, namespace, name, command, revision });
    say(problem ?? `${command}: taken.`);
  }

  return (
    <div class="requests">
      <fieldset aria-label="What you can do">
        {requests.map((one) => (
          <button
            key={one.command}
            type="button"
            class={one.isDrastic ? 'drastic' : ''}
            disabled={one.forbidden !== undefined}
            title={one.forbidden ?? one.effect}
            onClick={() => (one.isDrastic ? choose(one) : void ask(one))}
          >
            {one.command}
          </button>
        ))}
      </fieldset>
      {refusalsOf(requests).map((line) => (
        <p key={line} class="quiet">
          {line}
        </p>
      ))}
      <p role="status">{said}</p>
      <ul class="answers">
        {Object.entries(answers).map(([verb, { result, message, time }]) => (
          <li key={verb}>
            <Sign tone={result === 'Done' ? 'pass' : 'warn'} />
            {verb}: {message} <When time={time} />
          </li>
        ))}
      </ul>
      {chosen && (
        <Confirm
          request={chosen}
          line={`holdfast ${chosen.command} -n ${namespace} ${kind.toLowerCase()}/${name}`}
          onConfirm={() => void ask(chosen)}
          onCancel={() => choose(undefined)}
        />
      )}
    </div>
  );
}

/** Why buttons do nothing, a line for each reason. */
function refusalsOf(requests: readonly Request[]): string[] {
  const refused = requests.filter(({ forbidden }) => forbidden !== undefined);
  const reasons = [...new Set(refused.map(({ forbidden = '' }) => forbidden))];
  if (refused.length === requests.length)
    return reasons.slice(0, 1).map((why) => `You may only look: ${why}`);
  return reasons.map((why) => {
    const commands = refused.filter(({ forbidden }) => forbidden === why).map(({ command }) => command);
    return `You may not ${commands.join(' or ')}: ${why}`;
  });
}

/** Asks before what cannot be taken back. */
function Confirm({
  request: { command, effect },
  line,
  onConfirm,
  onCancel,
}: {
  request: Request;
  line: string;
  onConfirm: () => void;
  onCancel: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={onCancel}>
      <h2 id="confirm-title">{command}?</h2>
      <p>{effect}</p>
      <p class="quiet">
        On the command line: <code>{line}</code>
      </p>
      <div class="buttons">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="button" class="drastic" onClick={onConfirm}>
          Yes, {command}
        </button>
      </div>
    </dialog>
  );
}
