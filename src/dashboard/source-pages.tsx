import { sorted } from './fleet-list.ts';
import { Commit, Panel, Section, Sign, Table, When } from './parts.tsx';
import { Requests } from './requests.tsx';
import { hashOf } from './routing.ts';
import { fleet } from './state.ts';
import { Conditions } from './tables.tsx';
import type { SourceView } from './views.ts';

/** All Sources. */
export function SourcesPage() {
  const lists = fleet.value;
  if (!lists) return <p class="quiet">The list is read…</p>;
  const rows = sorted(lists.sources.values());
  return (
    <>
      <h1>Sources</h1>
      <Table
        label="Sources"
        titles={['Source', 'Ready', 'Reason', 'Canaries', 'Applied', 'Head']}
        rows={rows.map(({ namespace, name, tone, ready, reason, canaries, commit, subject }) => ({
          key: `${namespace}/${name}`,
          cells: [
            <a key="link" href={hashOf({ view: 'source', namespace, name })}>
              <Sign tone={tone} />
              {namespace}/<b>{name}</b>
            </a>,
            ready,
            reason,
            canaries ?? '–',
            <Commit key="commit" commit={commit} />,
            subject,
          ],
        }))}
      />
    </>
  );
}

/** One Source: its commits, what it applied, and how that does. */
export function SourcePage({ view }: { view: SourceView }) {
  const { row, url, reference, path, status, conditions, canaries, requests, objects } = view;
  const { head, appliedCommit, appliedTime, counts, answers } = status;
  return (
    <>
      <nav class="trail" aria-label="Trail">
        <a href="#/sources">Sources</a> / {row.namespace}
      </nav>
      <header class="subject">
        <h1>
          <Sign tone={row.tone} /> {row.name}
        </h1>
        <p class={`state ${row.tone}`}>{row.ready === 'True' ? 'Ready' : row.reason || row.ready}</p>
      </header>
      {row.message && <p class="message">{row.message}</p>}
      <Requests kind="Source" row={row} requests={requests} answers={answers} />
      <div class="panels">
        <Panel title="Git">
          <dl>
            <dt>Repository</dt>
            <dd>{url}</dd>
            <dt>Follows</dt>
            <dd>
              {reference} {path && `· ${path}`}
            </dd>
            <dt>Head</dt>
            <dd>
              <Commit commit={head?.commit} subject={head?.subject} /> {head?.author}{' '}
              <When time={head?.time} />
            </dd>
            <dt>Applied</dt>
            <dd>
              <Commit commit={appliedCommit} /> <When time={appliedTime} />
            </dd>
            <dt>Objects</dt>
            <dd>
              {Object.entries(counts ?? {})
                .map(([what, count]) => `${what} ${count}`)
                .join(', ') || '–'}
            </dd>
          </dl>
        </Panel>
        <Panel title="Canaries">
          <Table
            label="Canaries of this Source"
            titles={['Canary', 'Phase', 'Reason']}
            rows={sorted(canaries).map(({ namespace, name, tone, phase, reason }) => ({
              key: `${namespace}/${name}`,
              cells: [
                <a key="link" href={hashOf({ view: 'canary', namespace, name })}>
                  <Sign tone={tone} />
                  {namespace}/<b>{name}</b>
                </a>,
                phase,
                reason,
              ],
            }))}
          />
        </Panel>
        <Panel title="Conditions" wide>
          <Conditions rows={conditions} />
        </Panel>
        <Panel title="Objects" wide>
          <Section section={objects}>
            {(rows) => (
              <Table
                label="Objects of this Source"
                titles={['Object', 'Namespace', 'Problem']}
                rows={rows.map(({ kind, namespace, name, tone, problem }) => ({
                  key: `${kind}/${namespace}/${name}`,
                  cells: [
                    <span key="object">
                      <Sign tone={tone} />
                      {kind} {name}
                    </span>,
                    namespace,
                    problem,
                  ],
                }))}
              />
            )}
          </Section>
          <p class="quiet">Secrets, and objects that you may not list, are not shown.</p>
        </Panel>
      </div>
    </>
  );
}
