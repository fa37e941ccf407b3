/** A Node that is deleted while its machine tries a config, and is registered again by its kubelet, in quiet weather. */

import { quietWorld } from './quiet-world';
import type { SimulatedConfig } from './world/journal';
import { readyNode } from './world/node-objects';
import type { World } from './world/world';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** On the second one no node becomes Ready. */
function config(number: number): SimulatedConfig {
  return {
    ...{ name: `rendered-worker-${number}`, os: `os-${number}`, drain: true },
    ...{ restartsService: false, unreconcilable: false, doesNotBoot: false },
    ...{ cutsNetwork: false, neverReady: number === 2, unitFails: false },
  };
}

/** Another Node of the name, as a kubelet registers it that is not Ready: its machine runs on. */
async function registerAgain(world: World, name: string, run: (ms: number) => Promise<void>) {
  world.cluster.removeNode(name);
  world.pods.set(name, []);
  await run(10 * SECOND_MS);
  const { bootId } = world.hosts.get(name) ?? {};
  const { metadata, ...node } = readyNode(name, 'worker', '', bootId ?? '');
  const conditions = [{ type: 'Ready', status: 'False' }];
  world.cluster.joined.add(name);
  world.cluster.addNode({
    ...{ ...node, status: { ...node.status, conditions } },
    metadata: { ...metadata, uid: `${name}-again`, annotations: {} },
  });
}

jest.setTimeout(120_000);

it.each([3, 4])('is looked at when a person says so (seed %d)', async (seed) => {
  const policy = {
    ...{ canary: { nodes: 1 }, failureThreshold: 1, reboot: { timeoutSeconds: 600 } },
    verify: { readySeconds: 10, reconnectSeconds: 300 },
  };
  const pool = { maxUnavailable: 1, configs: [1, 2, 3, 4].map(config), policy };
  const { world, run } = await quietWorld({ seed, nodes: 3, pool });
  world.controllers.begin();
  const rebooting = () => [...world.hosts.values()].find(({ isUp }) => !isUp);
  while (rebooting() === undefined) await run(50);
  const host = rebooting();
  if (host === undefined) throw new Error('no machine reboots');
  while (!host.isUp) await run(SECOND_MS);
  await run(MINUTE_MS);
  await registerAgain(world, host.name, run);

  world.render('worker', 'rendered-worker-3');
  await run(180 * MINUTE_MS);
  const stuck = world.rollout('worker');
  world.ask('worker', 'retryNode', { node: host.name });
  await run(60 * MINUTE_MS);

  expect(host.journal).toBeUndefined();
  expect(stuck).toMatchObject({ state: 'Blocked', done: '0/3', failed: [] });
  expect(stuck?.blocker).toContain(`slipway node retry ${host.name}`);
  expect([...world.hosts.values()].map(({ current, files }) => [current, files])).toEqual(
    Array.from({ length: 3 }, () => ['rendered-worker-3', 'rendered-worker-3']),
  );
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});
