/** A real Prometheus that scrapes processes on this machine every second, with the alerts of deploy/monitoring. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { ensureBinary } from '../../../tools/binaries';
import { freePorts } from '../../../tools/processes/free-ports';
import { startProcess, waitUntilReady } from '../../../tools/processes/managed-process';
import { honorsLabels, readRuleFile } from '../../support/monitoring';

const READY_MS = 60_000;

/** Those that the operator of Prometheus gives each target, beside `job` and `instance`. */
const OPERATOR_LABELS = {
  ...{ endpoint: 'metrics', namespace: 'slipway', service: 'slipway-metrics' },
  ...{ pod: 'slipway-0', container: 'slipway' },
};

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

interface RuleState {
  readonly name: string;
  /** `ok` = its last evaluation had no error. */
  readonly health: string;
  readonly lastError?: string;
  readonly state: string;
}

export interface Prometheus {
  /** @throws Error with what Prometheus says of a wrong query */
  query(expr: string): Promise<readonly Sample[]>;
  rules(): Promise<readonly RuleState[]>;
  /** Addresses that answered the last scrape. */
  up(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function startPrometheus(
  directory: string,
  targets: readonly string[],
): Promise<Prometheus> {
  mkdirSync(directory, { recursive: true });
  const config = join(directory, 'prometheus.yaml');
  writeFileSync(join(directory, 'rules.yaml'), stringify(readRuleFile()));
  writeFileSync(config, stringify(configFor(targets)));
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const running = await startProcess({
    name: 'prometheus',
    command: await ensureBinary('prometheus'),
    args: [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    logFile: join(directory, 'prometheus.log'),
  });
  await waitUntilReady(running, async () => (await fetch(`${url}/-/ready`)).ok, READY_MS);
  const ask = <T>(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<T> =>
    answerOf<T>(`${url}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`);
  return {
    query: async (expr) =>
      (await ask<{ readonly result: readonly Sample[] }>('query', { query: expr })).result,
    rules: async () => {
      const { groups } = await ask<{
        readonly groups: readonly { readonly rules: readonly RuleState[] }[];
      }>('rules');
      return groups.flatMap(({ rules }) => rules);
    },
    up: async () => {
      const { activeTargets } = await ask<{
        readonly activeTargets: readonly {
          readonly health: string;
          readonly labels: { readonly instance: string };
        }[];
      }>('targets');
      return activeTargets
        .filter(({ health }) => health === 'up')
        .map(({ labels }) => labels.instance);
    },
    stop: () => running.stop(),
  };
}

function configFor(targets: readonly string[]): object {
  return {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [
      {
        job_name: 'slipway-metrics',
        honor_labels: honorsLabels(),
        static_configs: [{ targets, labels: OPERATOR_LABELS }],
      },
    ],
  };
}

async function answerOf<T>(url: string): Promise<T> {
  const answer = (await (await fetch(url)).json()) as {
    readonly status: string;
    readonly data: T;
    readonly error?: string;
  };
  if (answer.status !== 'success') throw new Error(answer.error ?? answer.status);
  return answer.data;
}
