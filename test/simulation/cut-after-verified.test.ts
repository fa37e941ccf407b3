/**
 * A config that cuts its machines off a second after the host has verified it: something watches the file, or starts a
 * little later. Kubelets fall silent with it, which the cluster sees a minute later, as `node-monitor-grace-period` has
 * it. In quiet weather, with the default `readySeconds`.
 */

import { ANNOTATION } from '../../core/names';
import { quietWorld, rebootingConfig } from './quiet-world';
import type { Host, SimulatedConfig } from './world/host';

const MINUTE_MS = 60_000;
const BAD = rebootingConfig(2);
const WITHOUT_REBOOT = { ...BAD, os: 'os-1', drain: false };

jest.setTimeout(120_000);

interface Told {
  readonly bad: SimulatedConfig;
  readonly maxUnavailable: number;
  /** As long as the cluster believes in a kubelet that is silent. */
  readonly graceMs?: number;
}

async function cutOff({ bad, maxUnavailable, graceMs = 50_000 }: Told) {
  const policy = {
    ...{ canary: { nodes: 1 }, failureThreshold: 1, reboot: { timeoutSeconds: 600 } },
    verify: { readySeconds: 10, reconnectSeconds: 120 },
  };
  const { world, run } = await quietWorld({
    nodes: 6,
    pool: { maxUnavailable, configs: [rebootingConfig(1), bad], policy },
  });
  world.controllers.begin();
  const struck = new Set<Host>();
  const done = new Set<string>();
  for (let ms = 0; ms < 30 * MINUTE_MS; ms += 250) {
    await run(250);
    for (const host of world.hosts.values()) {
      const { annotations } = world.cluster.node(host.name).metadata;
      if (annotations?.[ANNOTATION.CURRENT_CONFIG] === bad.name) done.add(host.name);
      if (host.journal?.verified !== true || struck.has(host)) continue;
      struck.add(host);
      world.clock.after(1_000, () => host.setCut(true));
      world.clock.after(1_000 + graceMs, () => host.report(false));
    }
  }
  const [first] = struck;
  if (first === undefined) throw new Error('none was verified');
  const { metadata, spec } = world.cluster.node(first.name);
  const { state, failedCount } = (await world.progress('worker')) ?? {};
  const isCordoned = spec?.unschedulable === true;
  return { world, struck, done, state, failedCount, isCordoned, told: metadata.annotations ?? {} };
}

describe.each([
  ['without a reboot', WITHOUT_REBOOT],
  ['with a reboot', BAD],
])('a config that cuts machines off a second after they were verified, %s,', (_how, bad) => {
  it.each([
    ['two at a time', 2, 50_000],
    ['one at a time', 1, 50_000],
    ['seen before the host is given up', 1, 14_000],
  ])(
    'has failed on the canary, and is tried by nobody else (%s)',
    async (_what, slots, graceMs) => {
      const found = await cutOff({ bad, maxUnavailable: slots, graceMs });

      expect([...found.done]).toEqual([]);
      expect(found.struck.size).toBe(1);
      expect(found).toMatchObject({ state: 'Halted', failedCount: 1, isCordoned: true });
      expect(found.told[ANNOTATION.STATE]).toBe('Degraded');
      expect(found.told[ANNOTATION.REASON]).toContain('NodeNotReady');
      expect(found.world.invariants.violations).toEqual([]);
    },
  );
});
