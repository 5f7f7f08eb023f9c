import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { colourOf, systemChanges, theme } from './theme.ts';
import { numberText } from './time.ts';
import type { IncidentView, Timeline } from './views.ts';

/** The share of the canary, its failed checks and each check's values over time, with the reports as vertical lines. */
export function Plots({ timeline, incidents }: { timeline: Timeline; incidents: readonly IncidentView[] }) {
  const { timesSeconds, weightsPercent, failedChecks, checks, since } = timeline;
  const marks = incidents.map(({ time, severity }) => ({ atSeconds: Date.parse(time) / 1000, severity }));
  const shared = { timesSeconds, marks };
  return (
    <>
      <div class="plots">
        <Plot title="Canary weight, %" values={weightsPercent} range={[0, 100]} isStepped {...shared} />
        {failedChecks.some((count) => count) && (
          <Plot title="Failed checks" values={failedChecks} isStepped {...shared} />
        )}
        {checks.map(({ name, values, min, max }) => (
          <Plot key={name} title={name} values={values} bounds={[min, max]} {...shared} />
        ))}
      </div>
      <p class="quiet">
        As this replica of Holdfast saw it since <time dateTime={since}>{since}</time>. Vertical lines:
        incidents.
      </p>
    </>
  );
}

interface PlotProps {
  readonly title: string;
  readonly timesSeconds: readonly number[];
  readonly values: readonly (number | null)[];
  readonly marks: ReadonlyArray<{ readonly atSeconds: number; readonly severity: string }>;
  readonly range?: [number, number];
  readonly bounds?: readonly (number | undefined)[];
  readonly isStepped?: boolean;
}

const heightPx = 130;

function Plot(props: PlotProps) {
  const { title, timesSeconds, values } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  // What is drawn over the values may change while the plot stays.
  const lines = useRef<Lines>(props);
  lines.current = props;
  const shownTheme = `${theme.value} ${systemChanges.value}`;
  const known = values.filter((value) => value !== null);
  const last = known.at(-1);
  const text = last === undefined ? 'no value yet' : `now ${numberText(last)}, ${known.length} values`;
  useEffect(() => {
    const at = place.current;
    if (!at) return undefined;
    const options = optionsFor(props, at.clientWidth, () => lines.current);
    const made = new uPlot(options, dataOf(timesSeconds, values), at);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: at.clientWidth, height: heightPx }));
    resized.observe(at);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [shownTheme, title]);
  useEffect(() => plot.current?.setData(dataOf(timesSeconds, values)), [timesSeconds, values]);
  return (
    <figure>
      <figcaption>
        {title} <span class="quiet">{text}</span>
      </figcaption>
      <div ref={place} class="plot" role="img" aria-label={`${title}: ${text}`} />
    </figure>
  );
}

function dataOf(times: readonly number[], values: readonly (number | null)[]): uPlot.AlignedData {
  return [[...times], [...values]];
}

function optionsFor({ range, isStepped }: PlotProps, width: number, lines: () => Lines): uPlot.Options {
  const axis = {
    stroke: colourOf('--quiet'),
    grid: { stroke: colourOf('--line') },
    ticks: { show: false },
    font: '11px system-ui',
  };
  const paths = isStepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  return {
    width,
    height: heightPx,
    legend: { show: false },
    cursor: { y: false },
    scales: { y: { range: range ?? around } },
    axes: [
      { ...axis, space: 70, values: '{HH}:{mm}:{ss}' },
      { ...axis, size: 44 },
    ],
    series: [
      {},
      {
        stroke: colourOf('--accent'),
        width: 2,
        spanGaps: true,
        ...(isStepped
          ? {
              fill: colourOf('--accent').replace('rgb(', 'rgba(').replace(')', ', 0.15)'),
              points: { show: false },
            }
          : {}),
        ...(paths ? { paths } : {}),
      },
    ],
    hooks: { draw: [(plot) => drawLines(plot, lines())] },
  };
}

/** Room above and below, also for values that are all the same. */
function around(_plot: uPlot, min: number | null, max: number | null): [number, number] {
  const [low, high] = [min ?? 0, max ?? 1];
  const room = (high - low) / 10 || Math.abs(high) / 100 || 1;
  return [low - room, high + room];
}

type Lines = Pick<PlotProps, 'marks' | 'bounds'>;

function drawLines(plot: uPlot, { marks, bounds = [] }: Lines): void {
  const { ctx, bbox } = plot;
  const line = (from: [number, number], to: [number, number], stroke: string) => {
    ctx.strokeStyle = stroke;
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(...from);
    ctx.lineTo(...to);
    ctx.stroke();
  };
  ctx.save();
  for (const { atSeconds, severity } of marks) {
    const x = plot.valToPos(atSeconds, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    line([x, bbox.top], [x, bbox.top + bbox.height], colourOf(severity === 'error' ? '--bad' : '--quiet'));
  }
  for (const bound of bounds) {
    if (bound === undefined) continue;
    const y = plot.valToPos(bound, 'y', true);
    if (y >= bbox.top && y <= bbox.top + bbox.height)
      line([bbox.left, y], [bbox.left + bbox.width, y], colourOf('--bad'));
  }
  ctx.restore();
}
