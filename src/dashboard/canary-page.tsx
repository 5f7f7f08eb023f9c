import { Commit, Panel, Section, Sign, When } from './parts.tsx';
import { Plots } from './plots.tsx';
import { Requests } from './requests.tsx';
import { Changes, Checks, Conditions, History, Incidents, Pods } from './tables.tsx';
import type { CanaryView } from './views.ts';

/** One Canary: what happens, what it is judged by, and what can be done. */
export function CanaryPage({ view }: { view: CanaryView }) {
  const { row, status, postPromotion, advice } = view;
  const isFinished = row.tone === 'good';
  return (
    <>
      <nav class="trail" aria-label="Trail">
        <a href="#/canaries">Canaries</a> / {row.namespace}
      </nav>
      <header class="subject">
        <h1>
          <Sign tone={row.tone} /> {row.name}
        </h1>
        <p class={`state ${row.tone}`}>
          {row.phase}
          {row.isPaused && ' · paused'}
        </p>
      </header>
      {row.message && <p class="message">{row.message}</p>}
      {row.why && (
        <p>
          <b>Why:</b> {row.why}
        </p>
      )}
      {row.next && (
        <p>
          <b>Next:</b> {row.next.action} <When time={row.next.time} />
        </p>
      )}
      {!isFinished && advice && (
        <p>
          <b>You can:</b> {advice}
        </p>
      )}
      <Requests kind="Canary" row={row} requests={view.requests} answers={status.answers} />
      <div class="panels">
        <Panel title="Who serves">
          <Serving view={view} />
        </Panel>
        <Panel title="Commits">
          <Commits view={view} />
        </Panel>
        <Panel title="Over time" wide>
          <Plots timeline={view.timeline} incidents={view.incidents} />
        </Panel>
        <Panel title="Evidence of the last decision" wide>
          {postPromotion?.cause && <p>{postPromotion.cause}</p>}
          {status.failedChecks !== undefined && (
            <p class="quiet">Failed checks of this analysis: {status.failedChecks}</p>
          )}
          <Checks rows={status.checks ?? []} />
        </Panel>
        <Panel title="What this release changes" wide>
          <Section section={view.changes}>{(rows) => <Changes rows={rows} />}</Section>
        </Panel>
        <Panel title="Pods" wide>
          <Section section={view.pods}>{(rows) => <Pods rows={rows} />}</Section>
        </Panel>
        <Panel title="Incidents" wide>
          <Incidents rows={view.incidents} />
        </Panel>
        <Panel title="Past releases" wide>
          <History status={status} />
        </Panel>
        <Panel title="Conditions" wide>
          <Conditions rows={view.conditions} />
        </Panel>
      </div>
    </>
  );
}

function Serving({ view: { status, row } }: { view: CanaryView }) {
  const rows = status.serving ?? [];
  if (rows.length === 0) return <p class="quiet">Not known yet.</p>;
  return (
    <ul class="serving">
      {rows.map(({ workload, weight, ready, commit, subject }) => (
        <li key={workload}>
          <span>
            <b>{workload}</b> {weight}
            {row.share || ' %'} · {ready} ready
          </span>
          <meter min={0} max={100} value={weight} aria-label={`${workload}: ${weight}${row.share || ' %'}`} />
          <Commit commit={commit} subject={subject} />
        </li>
      ))}
    </ul>
  );
}

function Commits({
  view: { status, subjects, target, provider, steps, runStartTime, row },
}: {
  view: CanaryView;
}) {
  const { lastAppliedCommit: head, lastKnownGood: good, rejected = [] } = status;
  return (
    <dl>
      <dt>Head</dt>
      <dd>
        <Commit commit={head} subject={head && subjects[head]} />{' '}
        {runStartTime && (
          <>
            begun <When time={runStartTime} />
          </>
        )}
      </dd>
      <dt>Last known good</dt>
      <dd>
        {good ? <Commit commit={good.commit} subject={subjects[good.commit]} /> : '–'}{' '}
        <When time={good?.promotedTime} />
      </dd>
      {rejected.length > 0 && <dt>Rejected</dt>}
      {rejected.slice(-3).map(({ digest, commit, reason, time }) => (
        <dd key={digest}>
          <Commit commit={commit} subject={subjects[commit]} /> {reason} <When time={time} />
        </dd>
      ))}
      <dt>Target</dt>
      <dd>{target}</dd>
      <dt>Traffic</dt>
      <dd>
        {provider} {steps && `· ${steps}`}
      </dd>
      {row.owner && <dt>Owner</dt>}
      {row.owner && <dd>{row.owner}</dd>}
    </dl>
  );
}
