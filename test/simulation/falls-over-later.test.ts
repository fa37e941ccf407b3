/**
 * A canary that falls over a few seconds after an update that restarts nothing: something on the machine watches the file
 * that was written. In quiet weather.
 */

import { shippedSandbox } from './many-seeds';
import { quietWorld, rebootingConfig, until } from './quiet-world';

const MINUTE_MS = 60_000;
const OLD = rebootingConfig(1);
/** Neither drained nor told of anything. */
const QUIET = { ...rebootingConfig(2), os: OLD.os, drain: false };
const STATE = 'machineconfiguration.openshift.io/state';

beforeAll(() => shippedSandbox(), 180_000);

it.each([1, 2, 3])(
  'is taken back, and no other node follows it (seed %i)',
  async (seed) => {
    const verify = { readySeconds: 10, reconnectSeconds: 30 };
    const policy = { canary: { nodes: 1 }, failureThreshold: 1, verify };
    const { world, run } = await quietWorld({
      ...{ seed, nodes: 3 },
      pool: { maxUnavailable: 3, configs: [OLD, QUIET], policy },
    });
    world.controllers.begin();
    const hosts = [...world.hosts.values()];
    const verified = () => hosts.find(({ journal }) => journal?.verified === true);
    await until(run, () => verified() !== undefined, 5);
    const canary = verified();
    await run(2_000);
    canary?.report(false);
    await run(MINUTE_MS);
    canary?.report(true);

    await run(20 * MINUTE_MS);

    expect(hosts.map(({ files }) => files)).toEqual(hosts.map(() => OLD.name));
    const states = hosts.map(({ name }) => world.cluster.node(name).metadata.annotations?.[STATE]);
    expect(states.filter((state) => state === 'Done')).toHaveLength(2);
    expect(world.cluster.node(canary?.name ?? '').metadata.annotations?.[STATE]).toBe('Degraded');
    expect(world.invariants.violations).toEqual([]);
  },
  120_000,
);
