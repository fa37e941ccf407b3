/** The main story: configs roll through a pool, and every promise holds. */

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { HistoryItem } from '../../cli/history/items';
import type { RolloutSnapshot } from '../../cli/snapshot';
import { SHOP } from '../../tools/stack/workloads';
import { base64File, machineConfig, plainFile } from './support/configs';
import { differences, pictureOf } from './support/host-disk';
import { inTemporal, placesOf, toldBy } from './support/secrecy';
import {
  changesOf,
  cordonedBySlipway,
  isTainted,
  markOf,
  rebootsOf,
  taintedWhenCordoned,
  unverified,
  wasEverCordoned,
  wasEverNotReady,
} from './support/judgements';
import type { CliRun } from './support/ask-until';
import {
  CORDONED_BY,
  CURRENT_CONFIG,
  MAX_UNAVAILABLE,
  POOL,
  START_MS,
  startWorld,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

const MOTD = '/etc/motd';
const FACTORY_MOTD = 'as the machine came\n';
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3pDMjTQZTBtl1RH1FjAnfT1uGfIG2oV7rqzW3UyDkS ops';
/** One for each way in which a config holds contents. */
const SECRETS = ['plain', 'base64', 'unit', 'dropin'].map(
  (where) => `password-in-${where}-${randomBytes(12).toString('base64url')}`,
);
const [IN_FILE = '', IN_SCRIPT = '', IN_UNIT = '', IN_DROPIN = ''] = SECRETS;
const SCRIPT = Buffer.from(`#!/bin/sh\n# ${IN_SCRIPT}\nprintf "\\377\\000"\n\u00e9\n`);
const REPORT_UNIT = {
  name: 'report.service',
  enabled: true,
  contents: `[Unit]\nDescription=Report\n\n[Service]\nType=oneshot\nEnvironment=KEY=${IN_UNIT}\nExecStart=/usr/bin/true\n\n[Install]\nWantedBy=multi-user.target\n`,
  dropins: [
    { name: '10-nice.conf', contents: `[Service]\nNice=10\nEnvironment=TOKEN=${IN_DROPIN}\n` },
  ],
};

/** All parts of a MachineConfig, and a kernel argument, so that the machines reboot. */
const EVERYTHING = machineConfig('50-everything', {
  kernelArguments: ['nosmt', 'audit=1'],
  files: [
    plainFile('/etc/sysctl.d/99-story.conf', `net.core.somaxconn = 4096 # 100 % ${IN_FILE}\n`),
    base64File('/usr/local/bin/report', SCRIPT, 0o755),
    {
      path: '/etc/story/big.txt',
      mode: 0o640,
      compression: 'gzip',
      source: `data:;base64,${gzipSync('0123456789abcdef\n'.repeat(4_000)).toString('base64')}`,
    },
    plainFile(MOTD, 'managed\n'),
  ],
  units: [REPORT_UNIT],
  sshKeys: [KEY],
});

const MACHINE_CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    workloads: SHOP.map((workload) => ({ ...workload, terminationMs: 200 })),
  });
}, START_MS);

// A failed story leaves a person's marks behind; the next one begins without them.
afterEach(async () => {
  await world.allowEvictions(true);
  for (const node of world.workers) {
    const { unschedulable, annotations } = world.node(node);
    if (unschedulable && annotations[CORDONED_BY] === undefined) {
      await world.cordon(node, false);
    }
  }
});

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

async function expectGoodWorld(config: string, nodes = world.workers): Promise<void> {
  expect(world.record.violations).toEqual([]);
  expect(world.record.maxUnavailableSeen).toBeLessThanOrEqual(MAX_UNAVAILABLE);
  for (const { app, minAvailable } of SHOP) {
    expect(world.record.lowestHealthy(app)).toBeGreaterThanOrEqual(minAvailable);
  }
  expect(cordonedBySlipway(world.record)).toEqual([]);
  const wrong = await Promise.all(
    nodes.map(async (node) => [
      node,
      await differences(world.api, config, world.stack.hostRoot(node)),
    ]),
  );
  expect(wrong).toEqual(nodes.map((node) => [node, []]));
}

test(
  'a config with everything in it reaches every worker, within the limits, verified',
  async () => {
    for (const node of world.workers) {
      // Images also keep their files for /etc below /usr/etc.
      const root = world.stack.hostRoot(node);
      mkdirSync(join(root, '/usr/etc'));
      for (const path of [MOTD, `/usr${MOTD}`]) writeFileSync(join(root, path), FACTORY_MOTD);
    }
    const masters = await Promise.all(
      world.stack.nodesOf('master').map((node) => pictureOf(world.stack.hostRoot(node))),
    );
    const mark = markOf(world.record);

    const config = await world.roll(EVERYTHING);
    const status = await world.slipway(['rollout', 'status', POOL, '--watch']);
    expect(status.code).toBe(0);

    await world.allUpdatedTo(config);
    await expectGoodWorld(config);
    expect(world.record.maxUnavailableSeen).toBe(MAX_UNAVAILABLE);
    expect(world.record.evictions).toBeGreaterThan(0);
    for (const node of world.workers) {
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, [config]]);
      expect(unverified(world.record, node, config, mark)).toEqual([]);
    }
    expect(taintedWhenCordoned(world.record, mark)).not.toEqual([]);
    expect(world.record.nodes.filter(isTainted)).toEqual([]);
    // During the canary's update, no other node was touched.
    const first = changesOfAll(mark).find(({ node }) => node.unschedulable)?.node.name;
    const second = changesOfAll(mark).find(({ node }) => node.unschedulable && node.name !== first);
    const canaryDone = changesOfAll(mark).find(
      ({ node }) => node.name === first && node.annotations[CURRENT_CONFIG] === config,
    );
    expect(second?.atMs).toBeGreaterThanOrEqual(canaryDone?.atMs ?? Infinity);

    const after = await Promise.all(
      world.stack.nodesOf('master').map((node) => pictureOf(world.stack.hostRoot(node))),
    );
    expect(after).toEqual(masters);
  },
  STORY_MS,
);

function changesOfAll(mark: number) {
  return world.record.changes.slice(mark);
}

test(
  'an SSH key costs nothing: no cordon, no reboot, no pod',
  async () => {
    const mark = markOf(world.record);
    const evictions = world.record.evictions;

    const config = await world.roll(machineConfig('60-key', { sshKeys: [`${KEY}-second`] }));
    await world.allUpdatedTo(config);

    await expectGoodWorld(config);
    for (const node of world.workers) {
      expect(rebootsOf(world.record, node, mark)).toEqual([]);
      expect(wasEverCordoned(world.record, node, mark)).toBe(false);
      expect(wasEverNotReady(world.record, node, mark)).toBe(false);
    }
    expect(world.record.evictions).toBe(evictions);
  },
  STORY_MS,
);

test(
  'a node that a person has cordoned is left alone and named, and follows when they uncordon it',
  async () => {
    const mine = 'worker-4';
    const others = world.workers.filter((node) => node !== mine);
    await world.cordon(mine, true);
    const mark = markOf(world.record);
    const disk = await pictureOf(world.stack.hostRoot(mine));
    const { annotations } = world.node(mine);

    // Everything of the first config is removed, and the earlier files come back.
    const config = await world.roll(
      machineConfig('50-everything', { kernelArguments: ['loglevel=3'] }),
    );
    await world.allUpdatedTo(config, others);

    await expectGoodWorld(config, others);
    for (const node of others) expectGone(node);
    expect(world.node(mine).unschedulable).toBe(true);
    expect(world.node(mine).annotations).toEqual(annotations);
    expect(await pictureOf(world.stack.hostRoot(mine))).toEqual(disk);
    expect(rebootsOf(world.record, mine, mark)).toEqual([]);

    const status = await world.slipwayUntil(
      ['rollout', 'status', POOL, '-o', 'json'],
      (run) => snapshotIn(run).blocker?.startsWith('nothing is left to start') === true,
    );
    const snapshot = snapshotIn(status);
    expect(snapshot).toMatchObject({ machineCount: 6, updated: 5, state: 'Blocked' });
    const left = 'cordoned by a person, so it is left alone; uncordon it to let it be updated';
    expect(snapshot.blocker).toBe(
      `nothing is left to start; 1 node cannot be taken now: ${mine} (${left})`,
    );
    expect(snapshot.rows).toContainEqual({ node: mine, group: 'Blocked', detail: left });

    await world.cordon(mine, false);
    await world.allUpdatedTo(config);
    await expectGoodWorld(config);
    expectGone(mine);
    expect(rebootsOf(world.record, mine, mark)).toEqual([config]);
  },
  STORY_MS,
);

function snapshotIn({ out }: CliRun): RolloutSnapshot {
  return JSON.parse(out) as RolloutSnapshot;
}

function expectGone(node: string): void {
  const root = world.stack.hostRoot(node);
  for (const path of [
    '/etc/sysctl.d/99-story.conf',
    '/usr/local/bin/report',
    '/etc/story/big.txt',
    '/etc/systemd/system/report.service',
    '/etc/systemd/system/report.service.d/10-nice.conf',
    '/etc/systemd/system/multi-user.target.wants/report.service',
  ]) {
    expect([node, path, existsSync(join(root, path))]).toEqual([node, path, false]);
  }
  expect(readFileSync(join(root, MOTD), 'utf8')).toBe(FACTORY_MOTD);
}

test(
  'a config that arrives on the way takes over: nobody reboots twice for it, or for the old one in vain',
  async () => {
    const mark = markOf(world.record);
    const before = world.target();
    const first = await world.roll(
      machineConfig('70-first', {
        kernelArguments: ['first=1'],
        files: [plainFile('/etc/a', 'a')],
      }),
    );
    await world.until(`a worker is on ${first}`, () => reached(first).length > 0);
    // No pod may be evicted from here on, so each drained node stops before its reboot.
    await world.allowEvictions(false);
    const heldUp = await untilHeldUp();
    const updatedOnce = world.workers.filter((node) => !reached(before).includes(node));

    // A mark from before the change: nodes may have been uncordoned and cordoned again when it is observed.
    const retargeted = markOf(world.record);
    const second = await world.roll(
      machineConfig('80-second', {
        kernelArguments: ['second=1'],
        files: [plainFile('/etc/b', 'b')],
      }),
    );
    await world.until('the nodes that were held up have been given back', () =>
      heldUp.every((node) =>
        changesOf(world.record, node, retargeted).some((change) => !change.node.unschedulable),
      ),
    );
    await world.allowEvictions(true);
    await world.allUpdatedTo(second);

    await expectGoodWorld(second);
    for (const node of world.workers) {
      const expected = updatedOnce.includes(node) ? [first, second] : [second];
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, expected]);
    }
    const { out } = await world.slipway(['rollout', 'history', POOL, '-o', 'json']);
    const { items } = JSON.parse(out) as { readonly items: readonly HistoryItem[] };
    const rollouts = items.filter(({ kind }) => kind === 'rollout');
    expect(rollouts.slice(0, 2)).toMatchObject([
      { config: second },
      { config: first, outcome: 'Retargeted', counts: { machines: world.workers.length } },
    ]);
  },
  STORY_MS,
);

test(
  'nothing in the configs was told to anybody but the hosts, and nothing in Temporal can be read',
  async () => {
    const { text } = await world.api.send('GET', MACHINE_CONFIGS);
    expect(SECRETS.map((secret) => placesOf([secret], new Map([['configs', text]])))).toEqual(
      SECRETS.map(() => ['configs']),
    );

    const told = await toldBy(world);

    expect(
      [...told.keys()].filter((name) => name.startsWith('update-node/')).length,
    ).toBeGreaterThan(world.workers.length);
    expect(placesOf(SECRETS, told)).toEqual([]);
    expect((await inTemporal(world)).readable).toEqual([]);
  },
  STORY_MS,
);

function reached(config: string): readonly string[] {
  return world.record.nodes
    .filter((node) => node.annotations[CURRENT_CONFIG] === config)
    .map(({ name }) => name);
}

/** No pod may be evicted any more, and every node with a grant has pods. @returns these nodes */
async function untilHeldUp(): Promise<readonly string[]> {
  for (;;) {
    await world.until('every node on its way is held up in its drain', () => {
      const onTheWay = cordonedBySlipway(world.record);
      return onTheWay.length === MAX_UNAVAILABLE && onTheWay.every(seemsHeldUp);
    });
    const nodes = cordonedBySlipway(world.record);
    const held = await Promise.all(nodes.map(isHeldUp));
    if (held.every(Boolean)) return nodes;
  }
}

/** By the observer, which may lag behind the last evictions. */
function seemsHeldUp(node: string): boolean {
  const pods = world.record.pods.filter((pod) => pod.node === node);
  return pods.length > 0 && pods.every((pod) => !pod.terminating);
}

/** Whether it still has a pod that its budget protects, by the API server. */
async function isHeldUp(node: string): Promise<boolean> {
  const path = `/api/v1/pods?fieldSelector=spec.nodeName%3D${node}`;
  const { items } = await world.api.call<{
    readonly items: readonly { readonly metadata: { readonly deletionTimestamp?: string } }[];
  }>('GET', path);
  const isLeaving = items.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return items.length > 0 && !isLeaving;
}
