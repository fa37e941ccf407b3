/** A real Prometheus scrapes a good rollout: every query of the dashboard has an answer, every alert can be judged. */

import { join } from 'node:path';
import { ensureBinary } from '../../tools/binaries';
import { PRODUCT_NAMES } from '../../tools/stack/product';
import { until } from '../integration/tools/until';
import { readAlerts, readDashboard } from '../support/monitoring';
import { machineConfig, plainFile } from './support/configs';
import { type Prometheus, startPrometheus } from './support/prometheus';
import { START_MS, startWorld, STOP_MS, STORY_MS, type World } from './support/world';

/** Panels without data after a good rollout. */
const EMPTY: Readonly<Record<string, string>> = {
  'Failed nodes': 'no node has failed',
  'Nodes whose drain timed out': 'every drain has ended in time',
};

let world: World;
let prometheus: Prometheus;

/** It may have to be built. */
const BUILD_MS = 900_000;

beforeAll(async () => {
  await ensureBinary('prometheus');
}, BUILD_MS);

beforeAll(async () => {
  world = await startWorld();
  const { product, directory } = world.stack;
  const targets = PRODUCT_NAMES.map((name) => new URL(product.healthUrl(name)).host);
  prometheus = await startPrometheus(join(directory, 'prometheus'), targets);
  await until(
    async () => (await prometheus.up()).length === targets.length,
    'all processes are scraped',
  );
}, START_MS);

afterAll(async () => {
  await prometheus?.stop();
  await world?.stop();
}, STOP_MS);

test(
  'every query of the dashboard has an answer after a rollout, and no alert fires',
  async () => {
    const config = await world.roll(
      machineConfig('50-monitored', {
        kernelArguments: ['nosmt'],
        files: [plainFile('/etc/monitored', 'yes\n')],
      }),
    );
    await world.allUpdatedTo(config);
    const updated = `sum(mco_updated_machine_count{pool="worker"}) == ${world.workers.length}`;
    await until(async () => (await prometheus.query(updated)).length === 1, updated);
    const ended = `sum(slipway_node_updates_total{outcome="updated"}) >= ${world.workers.length}`;
    await until(async () => (await prometheus.query(ended)).length === 1, ended);

    const withoutData: string[] = [];
    for (const { title, exprs } of readDashboard()) {
      const answers = await Promise.all(exprs.map((expr) => prometheus.query(forAllPools(expr))));
      if (answers.some((samples) => samples.length === 0)) withoutData.push(title);
    }
    expect(withoutData).toEqual(Object.keys(EMPTY));
    expect(await prometheus.query('slipway_server_requests_total{endpoint="metrics"}')).toEqual([]);

    const alerts = readAlerts().map(({ alert: name }) => name);
    await until(
      async () => (await prometheus.rules()).every(({ health }) => health !== 'unknown'),
      'every rule is evaluated',
    );
    const rules = await prometheus.rules();
    expect(rules.map(({ name }) => name)).toEqual(alerts);
    for (const { name, health, lastError = '', state } of rules) {
      expect([name, health, lastError]).toEqual([name, 'ok', '']);
      expect([name, state]).not.toEqual([name, 'firing']);
    }
  },
  STORY_MS,
);

/** As Grafana fills in the choice of all pools. */
function forAllPools(expr: string): string {
  return expr.replaceAll('$pool', '.*');
}
