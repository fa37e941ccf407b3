/** A config that cuts its machines off as soon as it is written. In quiet weather. */

import { ANNOTATION } from '../../core/names';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { SimulatedConfig } from './world/journal';

const MINUTE_MS = 60_000;
const OLD = 'rendered-worker-1';

/** The second one is the bad one. */
async function cutOff(bad: Partial<SimulatedConfig>) {
  const configs = [1, 2, 3, 4].map((number) => ({
    ...rebootingConfig(number),
    ...(number === 2 ? { ...bad, cutsWhenWritten: true } : {}),
  }));
  const verify = { readySeconds: 0, reconnectSeconds: 90 };
  const policy = { canary: { nodes: 0 }, failureThreshold: 1, verify };
  const pool = { maxUnavailable: 1, configs, policy };
  const { world, run } = await quietWorld({ seed: 1, nodes: 2, pool });
  world.controllers.begin();
  const hosts = [...world.hosts.values()];
  await until(run, () => hosts.some(({ isCut }) => isCut));
  const host = hosts.find(({ isCut }) => isCut);
  if (host === undefined) throw new Error('nobody is cut off');
  const setCut = jest.spyOn(host, 'setCut');
  return { world, run, host, cutAgain: () => setCut.mock.calls.some(([isCut]) => isCut) };
}

jest.setTimeout(120_000);

it.each<[string, Partial<SimulatedConfig>, number]>([
  ['with a reboot', {}, 0],
  ['without a reboot', { os: 'os-1' }, 0],
  ['with a reboot, when its worker dies in the middle of writing it', {}, 1],
])('is taken back by the machine alone, in place, once, %s', async (_how, bad, deaths) => {
  const { world, run, host, cutAgain } = await cutOff(bad);
  expect(host.files).toBe('half');
  if (deaths > 0) host.killWorker();

  await run(60 * MINUTE_MS);

  expect(cutAgain()).toBe(false);
  expect([host.boot, host.current, host.files]).toEqual([1, OLD, OLD]);
  expect(host.journal).toBeUndefined();
  const { metadata, spec } = world.cluster.node(host.name);
  expect(metadata.annotations?.[ANNOTATION.STATE]).toBe('Degraded');
  expect(metadata.annotations?.[ANNOTATION.REASON]).toContain('it was taken back');
  expect(spec?.unschedulable).not.toBe(true);
  expect(world.invariants.violations).toEqual([]);
});
