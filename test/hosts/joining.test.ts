/** A machine that comes with its config: what Ignition cannot do is done before its kubelet starts. */

import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { postNodes } from '../../tools/cluster/nodes';
import { markOf } from '../e2e/support/judgements';
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
const UPDATED_ALREADY = `${POOL}-0`;

let world: World;
let joining: Machine | undefined;

beforeAll(async () => {
  world = await startWorld({ hosts: 1, policy: { verify: { readySeconds: 1 } } });
}, START_MS);

afterAll(async () => {
  await joining?.remove();
  await world?.stop();
}, STOP_MS);

/** A machine that was installed with the older image, and its Node as a kubelet registers it. */
async function install(): Promise<Machine> {
  const directory = process.env['SLIPWAY_HOSTS_DIRECTORY'] ?? '';
  const { cluster, images, pointer, product, temporal } = world.fleet;
  const machine = await createMachine({
    directory: join(directory, 'machines'),
    name: NEW,
    number: 2,
    image: images.v1,
    kernelArguments: ['root=/dev/vda', 'ro'],
  });
  joining = machine;
  await joinPool(machine, {
    ...{ cluster, pointer },
    ...{ temporal: temporal.address, hostEndpoint: product.hostEndpoint },
  });
  await postNodes(world.api, [{ name: NEW, labels: { 'kubernetes.io/hostname': NEW } }]);
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

    const machine = await install();
    await machine.launcher.powerOn();
    await world.api.call('PATCH', `/api/v1/nodes/${NEW}`, {
      metadata: { labels: { [`node-role.kubernetes.io/${POOL}`]: '' } },
    });
    await world.until(`${NEW} is seen`, () => world.record.node(NEW) !== undefined);
    await world.allUpdatedTo(config, [UPDATED_ALREADY, NEW]);

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
  'its Node is deleted in the middle of an update: the update ends, and the machine joins anew',
  async () => {
    const before = world.target();
    const config = await world.roll(
      hostConfig('60-third', {
        kernelArguments: ['audit=0'],
        files: [plainFile('/etc/third', 'x')],
      }),
    );
    await world.until(`${NEW} is out of service`, () => world.node(NEW).unschedulable);

    await world.api.call('DELETE', `/api/v1/nodes/${NEW}`);
    const connection = await Connection.connect({ address: world.fleet.temporal.address });
    try {
      const { workflow } = new Client({ connection, namespace: world.fleet.temporal.namespace });
      await expect(workflow.getHandle(`update-node/${NEW}`).result()).rejects.toMatchObject({
        cause: { type: 'NodeDeleted' },
      });
    } finally {
      await connection.close();
    }
    // The other one got the slot.
    await world.allUpdatedTo(config, [UPDATED_ALREADY]);

    const labels = {
      'kubernetes.io/hostname': NEW,
      [`node-role.kubernetes.io/${POOL}`]: '',
    };
    await postNodes(world.api, [{ name: NEW, labels }]);
    await joining?.run('systemctl', 'restart', 'kubelet.service');
    await world.until(`${NEW} is on ${config}`, () => {
      const current = world.record.node(NEW)?.annotations[CURRENT_CONFIG];
      return current === config;
    });

    await world.allUpdatedTo(config, [UPDATED_ALREADY, NEW]);
    expect(before).not.toBe(config);
    expect(await joining?.output('cat', '/etc/third')).toBe('x');
  },
  STORY_MS,
);
