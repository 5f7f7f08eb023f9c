import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { addresses } from './addresses.ts';
import { type Programs, waitForAnswer } from './program.ts';

const START_MS = 300_000;
/** What checks ask about; all that Envoy counts of each cluster would keep both programs busy. */
const requestsOnly = { usedonly: ['true'], filter: ['^cluster\\..*upstream_rq'] };

/**
 * Starts Prometheus. Every second it scrapes Envoy and the targets that the files in a folder name: those of the pods (see scrape-targets.ts) and what
 * suites put beside them.
 */
export async function startPrometheus(
  path: string,
  programs: Programs,
  folder: string,
  targetsFolder: string,
): Promise<void> {
  const configuration = join(folder, 'prometheus.yaml');
  const envoy = { targets: [`127.0.0.1:${addresses.envoyStatsPort}`] };
  const settings = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    scrape_configs: [
      { job_name: 'envoy', metrics_path: '/stats/prometheus', params: requestsOnly, static_configs: [envoy] },
      {
        job_name: 'targets',
        file_sd_configs: [{ files: [join(targetsFolder, '*.json')], refresh_interval: '1s' }],
      },
    ],
  };
  writeFileSync(configuration, stringify(settings));
  const program = programs.start('prometheus', path, [
    `--config.file=${configuration}`,
    `--storage.tsdb.path=${join(folder, 'prometheus')}`,
    `--web.listen-address=${new URL(addresses.prometheus).host}`,
    '--storage.tsdb.retention.time=2h',
    '--query.lookback-delta=15s',
    '--log.level=warn',
  ]);
  await waitForAnswer(program, `${addresses.prometheus}/-/ready`, START_MS);
}
