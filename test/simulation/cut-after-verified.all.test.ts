/**
 * A config that cuts its machines off a second after the host has verified it: something watches the file, or starts a
 * little later. Kubelets fall silent with it, which the cluster sees a minute later, as `node-monitor-grace-period` has
 * it. In quiet weather.
 */

import { ANNOTATION } from '../../core/names';
import { quietWorld, rebootingConfig } from './quiet-world';
import type { Host } from './world/host';
import type { SimulatedConfig } from './world/journal';

const MINUTE_MS = 60_000;
const GOOD = rebootingConfig(1);
const BAD = { ...rebootingConfig(2), cutsOnceVerified: true };
const WITHOUT_REBOOT = { ...BAD, os: 'os-1', drain: false };

jest.setTimeout(120_000);

interface Told {
  readonly bad: SimulatedConfig;
  readonly maxUnavailable: number;
  readonly readySeconds: number;
}

async function cutOff({ bad, maxUnavailable, readySeconds }: Told) {
  const policy = {
    ...{ canary: { nodes: 1 }, failureThreshold: 1, reboot: { timeoutSeconds: 600 } },
    verify: { readySeconds, reconnectSeconds: 120 },
  };
  const { world, run } = await quietWorld({
    nodes: 6,
    pool: { maxUnavailable, configs: [GOOD, bad], policy },
  });
  world.controllers.begin();
  const struck = new Set<Host>();
  const done = new Set<string>();
  for (let ms = 0; ms < 30 * MINUTE_MS; ms += 250) {
    await run(250);
    for (const host of world.hosts.values()) {
      const { annotations } = world.cluster.node(host.name).metadata;
      if (annotations?.[ANNOTATION.CURRENT_CONFIG] === bad.name) done.add(host.name);
      if (host.journal?.verified === true) struck.add(host);
    }
  }
  const [first] = struck;
  if (first === undefined) throw new Error('none was verified');
  const { metadata, spec } = world.cluster.node(first.name);
  const { state, counts } = world.rollout('worker') ?? {};
  const isCordoned = spec?.unschedulable === true;
  const told = metadata.annotations ?? {};
  return { world, struck, done, first, state, failed: counts?.failed, isCordoned, told };
}

describe.each([
  ['without a reboot', WITHOUT_REBOOT],
  ['with a reboot', BAD],
])('a config that cuts machines off a second after they were verified, %s,', (_how, bad) => {
  it.each([
    ['two at a time', 2, 10],
    ['one at a time', 1, 10],
    ['seen by its node first', 1, 60],
  ])(
    'is taken back by the machine, has failed on the canary, and is tried by nobody else (%s)',
    async (_what, maxUnavailable, readySeconds) => {
      const found = await cutOff({ bad, maxUnavailable, readySeconds });

      expect([...found.done]).toEqual([]);
      expect([...found.struck]).toHaveLength(1);
      expect(found).toMatchObject({ state: 'Halted', failed: 1, isCordoned: false });
      expect(found.first).toMatchObject({ current: GOOD.name, files: GOOD.name, isCut: false });
      expect(found.first.journal).toBeUndefined();
      expect(found.told[ANNOTATION.CURRENT_CONFIG]).toBe(GOOD.name);
      expect(found.told[ANNOTATION.STATE]).toBe('Degraded');
      expect(found.told[ANNOTATION.REASON]).toContain('nobody could be reached');
      expect(found.world.invariants.violations).toEqual([]);
    },
  );
});
