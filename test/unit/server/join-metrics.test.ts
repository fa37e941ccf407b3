import { Registry } from 'prom-client';
import { JOIN_OUTCOMES, createJoinGate } from '../../../server/join-gate';
import { addJoinMetrics } from '../../../server/join-metrics';

it('counts requests of joining machines by outcome, each from zero on', async () => {
  const gate = createJoinGate({
    mode: 'tokens',
    allowedNetworks: [],
    tokens: { isSynced: true, find: () => undefined },
    now: () => 0,
  });
  const registry = new Registry();
  addJoinMetrics(registry, gate);

  await gate.ask({ pool: 'worker', authorization: undefined, address: '192.0.2.1' });
  await gate.ask({ pool: 'worker', authorization: 'Bearer x', address: '192.0.2.1' });

  for (const text of [await registry.metrics(), await registry.metrics()]) {
    for (const outcome of JOIN_OUTCOMES) {
      const count = outcome === 'no_token' ? 2 : 0;
      expect(text).toContain(`slipway_server_joins_total{outcome="${outcome}"} ${count}\n`);
    }
  }
});
