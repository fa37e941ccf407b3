/** Machines that join, and whose Nodes go and come again. */

import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { updateNodeId } from '../../core/names';
import { postNodes } from '../../tools/cluster/nodes';
import { markOf, wasEverCordoned } from '../e2e/support/judgements';
import { createMachine, type Machine } from './machine/machine';
import { joinPool } from './machine/join';
import { hostConfig, plainFile } from './support/configs';
import { POOL } from './support/fleet';
import {
  CURRENT_CONFIG,
  START_MS,
  startWorld,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

const NEW = `${POOL}-1`;
/** The oldest: rollouts take it first. */
const FIRST = `${POOL}-0`;

let world: World;
let joining: Machine;
const installed: Machine[] = [];

beforeAll(async () => {
  world = await startWorld({ hosts: 1, policy: { verify: { readySeconds: 1 } } });
}, START_MS);

afterAll(async () => {
  for (const machine of installed) await machine.remove();
  await world?.stop();
}, STOP_MS);

const role = (pool: string): string => `node-role.kubernetes.io/${pool}`;
const relabel = (node: string, labels: Readonly<Record<string, string | null>>) =>
  world.api.call('PATCH', `/api/v1/nodes/${node}`, { metadata: { labels } });

/** As a kubelet registers it, and somebody labels it: Slipway's annotations are not among what it knows. */
async function register(node: string): Promise<void> {
  const labels = { 'kubernetes.io/hostname': node, [role(POOL)]: '' };
  await postNodes(world.api, [{ name: node, labels }]);
  await world.until(`${node} is seen`, () => world.record.node(node) !== undefined);
}

async function unregister(node: string): Promise<void> {
  await world.api.call('DELETE', `/api/v1/nodes/${node}`);
  await world.until(`${node} is gone`, () => world.record.node(node) === undefined);
}

/** How a workflow ended. */
async function endOf(workflowId: string): Promise<unknown> {
  const { address, namespace } = world.fleet.temporal;
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection, namespace });
    return await workflow.getHandle(workflowId).result();
  } finally {
    await connection.close();
  }
}

/** A machine that was installed with the older image, and its Node as a kubelet registers it. */
async function install(name: string, number: number): Promise<Machine> {
  const directory = process.env['SLIPWAY_HOSTS_DIRECTORY'] ?? '';
  const { cluster, images, pointer, product, temporal } = world.fleet;
  const machine = await createMachine({
    directory: join(directory, 'machines'),
    ...{ name, number },
    image: images.v1,
    kernelArguments: ['root=/dev/vda', 'ro'],
  });
  installed.push(machine);
  await joinPool(machine, {
    ...{ cluster, pointer },
    ...{ temporal: temporal.address, hostEndpoint: product.hostEndpoint },
  });
  await postNodes(world.api, [{ name, labels: { 'kubernetes.io/hostname': name } }]);
  return machine;
}

test(
  'it gets image and kernel arguments with one reboot, and is a member without another one',
  async () => {
    const { fleet } = world;
    const config = await world.roll(
      hostConfig('50-second', {
        osImageURL: fleet.images.v2,
        kernelArguments: ['nosmt'],
        files: [plainFile('/etc/story.conf', 'of the story\n')],
      }),
    );
    await world.allUpdatedTo(config);
    const mark = markOf(world.record);

    joining = await install(NEW, 2);
    const machine = joining;
    await machine.launcher.powerOn();
    await relabel(NEW, { [role(POOL)]: '' });
    await world.until(`${NEW} is seen`, () => world.record.node(NEW) !== undefined);
    await world.allUpdatedTo(config, [FIRST, NEW]);

    expect(machine.launcher.boots()).toBe(2);
    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v2\n');
    expect(await machine.output('cat', '/proc/cmdline')).toContain('nosmt');
    expect(await machine.output('cat', '/etc/story.conf')).toBe('of the story\n');
    // The kubelet has never run on what the machine was installed with.
    const boot = world.node(NEW).bootID;
    const reported = world.record.changes.slice(mark).filter(({ node }) => node.name === NEW);
    expect(new Set(reported.map(({ node }) => node.bootID))).toEqual(new Set(['', boot]));
    expect(reported.some(({ node }) => node.unschedulable)).toBe(false);
    expect(
      (await machine.run('test', '-e', '/etc/ignition-machine-config-encapsulated.json')).status,
    ).not.toBe(0);
    expect(await machine.output('slipway', 'host', 'status')).toContain(config);
  },
  STORY_MS,
);

test(
  'a Node is deleted in the middle of its update: that ends, the other gets the slot, the machine joins anew',
  async () => {
    const config = await world.roll(
      hostConfig('60-third', {
        kernelArguments: ['audit=0'],
        files: [plainFile('/etc/third', 'x')],
      }),
    );
    await world.until(`${FIRST} is out of service`, () => world.node(FIRST).unschedulable);
    expect(world.node(NEW).annotations[CURRENT_CONFIG]).not.toBe(config);

    await unregister(FIRST);
    await expect(endOf(updateNodeId(FIRST))).rejects.toMatchObject({
      cause: { type: 'NodeDeleted' },
    });
    await world.allUpdatedTo(config, [NEW]);
    expect(await joining.output('cat', '/etc/third')).toBe('x');

    await register(FIRST);
    await world.machine.run('systemctl', 'restart', 'kubelet.service');
    await world.allUpdatedTo(config, [FIRST, NEW]);
    expect(await world.machine.output('cat', '/etc/third')).toBe('x');
  },
  STORY_MS,
);

test(
  'its Node is registered anew while it runs: it says at once what it is on, also in a paused pool',
  async () => {
    const config = world.target();
    await world.atRest(NEW);
    const boots = joining.launcher.boots();
    const pause = ['rollout', 'pause', POOL, '--reason', 'nobody is here'];
    expect(await world.slipway(...pause)).toMatchObject({ code: 0 });
    await world.until('the pool is paused', () => world.record.pool(POOL)?.paused === true);
    await unregister(NEW);
    const mark = markOf(world.record);

    await register(NEW);
    await joining.output('systemctl', 'restart', 'kubelet.service');

    await world.allUpdatedTo(config, [FIRST, NEW]);
    expect(world.record.pool(POOL)?.paused).toBe(true);
    expect(wasEverCordoned(world.record, NEW, mark)).toBe(false);
    expect(joining.launcher.boots()).toBe(boots);
    expect(await world.slipway('rollout', 'resume', POOL)).toMatchObject({ code: 0 });
    await world.until('the pool goes on', () => world.record.pool(POOL)?.paused === false);
  },
  STORY_MS,
);
