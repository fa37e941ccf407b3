import { createMetrics } from '../../../controllers/metrics';
import { assignNodes } from '../../../core/pool/membership';
import { aNode, aPool, PREFIX } from './objects';

const failed = aNode({ name: 'bad', current: 'a', desired: 'b', state: 'Degraded' });
const bad = {
  ...failed,
  metadata: {
    ...failed.metadata,
    annotations: { ...failed.metadata.annotations, [`${PREFIX}/reason`]: 'x'.repeat(500) },
  },
};
const done = aNode({ name: 'good', current: 'b', desired: 'b', state: 'Done' });
const torn = aNode({ name: 'torn', roles: ['infra', 'gpu'] });
const master = aNode({ name: 'boss', roles: ['master', 'infra'] });

const pools = [
  aPool('master', { configuration: { name: 'b' } }),
  aPool('worker', { configuration: { name: 'b' } }),
  aPool('infra'),
  aPool('gpu'),
];

it('shows pools and nodes under the names that dashboards know', async () => {
  const metrics = createMetrics();
  const nodes = [bad, done, torn, master];

  metrics.poolsObserved(pools, nodes, assignNodes(nodes, pools));
  const text = await metrics.registry.metrics();

  expect(text).toContain('mco_machine_count{pool="worker"} 2');
  expect(text).toContain('mco_updated_machine_count{pool="worker"} 1');
  expect(text).toContain('mco_degraded_machine_count{pool="worker"} 1');
  expect(text).toContain('mco_unavailable_machine_count{pool="worker"} 0');
  expect(text).toContain('mcc_pool_alert{node="torn"} 1');
  expect(text).toContain('mcc_pool_alert{node="boss"} 1');
  expect(text).toContain('mco_state{pool="worker",node="good",state="Done",reason=""} 1');
  expect(text).toContain(`state="Degraded",reason="${'x'.repeat(120)}"} 1`);
});

it('forgets pools and nodes that are gone', async () => {
  const metrics = createMetrics();
  metrics.poolsObserved(pools, [bad, torn], assignNodes([bad, torn], pools));

  metrics.poolsObserved([], [], assignNodes([], []));
  const text = await metrics.registry.metrics();

  expect(text).not.toContain('pool="worker"');
  expect(text).not.toContain('node="torn"');
});
