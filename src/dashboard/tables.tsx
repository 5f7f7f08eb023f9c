import { Commit, Sign, Table, When } from './parts.tsx';
import { numberText } from './time.ts';
import type { CanaryView, FieldChange, IncidentView, PodRow } from './views.ts';

/** Conditions of a Canary or a Source. */
export function Conditions({ rows }: { rows: CanaryView['conditions'] }) {
  return (
    <Table
      label="Conditions"
      titles={['Type', 'Status', 'Reason', 'Message', 'Since']}
      rows={rows.map(({ type, status, reason, message, lastTransitionTime }) => ({
        key: type,
        cells: [type, status, reason, message, <When key="when" time={lastTransitionTime} />],
      }))}
    />
  );
}

/** What was measured last, with its bounds. */
export function Checks({ rows }: { rows: NonNullable<CanaryView['status']['checks']> }) {
  return (
    <Table
      label="Checks"
      titles={['Check', 'Value', 'Bounds', 'Detail', 'Asked']}
      rows={rows.map(({ name, verdict, value, min, max, detail, time }) => ({
        key: name,
        cells: [
          <span key="name">
            <Sign tone={verdict} />
            {name}
          </span>,
          value === undefined ? '–' : numberText(value),
          [
            min === undefined ? '' : `min ${numberText(min)}`,
            max === undefined ? '' : `max ${numberText(max)}`,
          ]
            .filter(Boolean)
            .join(', '),
          detail,
          <When key="when" time={time} />,
        ],
      }))}
    />
  );
}

/** Fields before and after. */
export function Changes({ rows }: { rows: readonly FieldChange[] }) {
  if (rows.length === 0)
    return (
      <p class="quiet">The pod template is the same; what changed is a ConfigMap, a Secret or a port.</p>
    );
  return (
    <Table
      label="What this release changes"
      titles={['Field', 'Before', 'After']}
      rows={rows.map(({ path, before, after }) => ({
        key: path,
        cells: [
          <code key="path">{path}</code>,
          before === undefined ? <span class="quiet">not there</span> : <del key="before">{before}</del>,
          after === undefined ? <span class="quiet">not there</span> : <ins key="after">{after}</ins>,
        ],
      }))}
    />
  );
}

/** Pods of both sides. */
export function Pods({ rows }: { rows: readonly PodRow[] }) {
  return (
    <Table
      label="Pods"
      titles={['Pod', 'Workload', 'Phase', 'Restarts', 'Image', 'Problem', 'Created']}
      rows={rows.map(({ name, workload, isReady, phase, restarts, image, problem, createdTime }) => ({
        key: name,
        cells: [
          <span key="name">
            <Sign tone={isReady ? 'good' : 'busy'} />
            {name}
          </span>,
          workload,
          isReady ? 'Ready' : phase,
          restarts,
          image,
          problem,
          <When key="when" time={createdTime} />,
        ],
      }))}
    />
  );
}

/** Past releases and rejected ones. */
export function History({ status }: { status: CanaryView['status'] }) {
  return (
    <Table
      label="Past releases"
      titles={['Result', 'Commit', 'Reason', 'What happened', 'Ended']}
      rows={(status.history ?? []).map(({ result, commit, subject, reason, message, endTime, digest }) => ({
        key: `${digest} ${endTime}`,
        cells: [
          <span key="result">
            <Sign tone={result === 'Failed' ? 'fail' : 'pass'} />
            {result}
          </span>,
          <Commit key="commit" commit={commit} subject={subject} />,
          reason === result ? '' : reason,
          message,
          <When key="when" time={endTime} />,
        ],
      }))}
    />
  );
}

/** Reports, the newest first, with their facts. */
export function Incidents({ rows }: { rows: readonly IncidentView[] }) {
  if (rows.length === 0) return <p class="quiet">None.</p>;
  return (
    <ul class="incidents">
      {rows.map(({ time, severity, reason, message, facts }) => (
        <li key={`${time} ${reason}`}>
          <details>
            <summary>
              <Sign tone={severity} />
              {message} <When time={time} />
            </summary>
            <dl>
              {facts.map(({ title, value }) => (
                <div key={title}>
                  <dt>{title}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </details>
        </li>
      ))}
    </ul>
  );
}
