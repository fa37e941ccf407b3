/** Hosts that fail are rolled back byte for byte, return to service, and are retried by a person. */

import { randomBytes } from 'node:crypto';
import { machineConfig, plainFile } from './support/configs';
import { differences, pictureOf } from './support/host-disk';
import { cordonedBySlipway, markOf, rebootsOf, wasEverCordoned } from './support/judgements';
import { inTemporal, placesOf, toldBy } from './support/secrecy';
import {
  CURRENT_CONFIG,
  POOL,
  REASON,
  START_MS,
  startWorld,
  STATE,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

/** The first two in the order of zone and name, so that each is a canary, alone. */
const FAILS_VERIFICATION = 'worker-0';
const FAILS_WRITING = 'worker-3';
/** Boots another deployment than the armed one. */
const FAILS_BOOT = 'worker-1';

const SECRET = `password-${randomBytes(12).toString('base64url')}`;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 1, worker: 6 },
    simulation: {
      stageSeconds: 0.1,
      applySeconds: 0.1,
      rebootSeconds: 0.5,
      jitter: 0,
      failures: [
        `node=${FAILS_VERIFICATION},at=verify,times=1`,
        `node=${FAILS_WRITING},at=apply,times=1`,
        `node=${FAILS_BOOT},at=boot,times=1`,
      ],
    },
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

const disk = (node: string) => pictureOf(world.stack.hostRoot(node));

function hasFailed(node: string): boolean {
  return world.node(node).annotations[STATE] === 'Degraded';
}

function serves(node: string): boolean {
  const { unschedulable, ready } = world.node(node);
  return ready && !unschedulable;
}

test(
  'failed nodes go back and serve, the threshold halts the rest, and a retry heals them',
  async () => {
    const old = world.target();
    const mark = markOf(world.record);
    const before = new Map<string, readonly string[]>();
    for (const node of world.workers) before.set(node, await disk(node));

    const config = await world.roll(
      machineConfig('50-change', {
        kernelArguments: ['nosmt'],
        files: [
          plainFile('/etc/change.conf', `on ${SECRET}\n`),
          plainFile('/etc/sysctl.d/90-inotify.conf', 'a\n'),
        ],
        units: [{ name: 'change.service', enabled: false, contents: '[Service]\nExecStart=/a\n' }],
      }),
    );
    const watched = await world.slipway(['rollout', 'status', POOL, '--watch']);

    // Two failures are the threshold; no other node was touched.
    expect(watched.code).toBe(4);
    const failed = [FAILS_VERIFICATION, FAILS_WRITING];
    // The command watches by itself and may be ahead of the observer.
    await world.until('both are seen as failed, and serve', () =>
      failed.every((node) => hasFailed(node) && serves(node)),
    );
    expect(world.workers.filter(hasFailed)).toEqual(failed);
    for (const node of failed) {
      expect(world.node(node)).toMatchObject({ unschedulable: false, ready: true });
      expect(world.node(node).annotations[CURRENT_CONFIG]).toBe(old);
      expect(world.node(node).annotations[REASON]).not.toBe('');
      expect([node, await disk(node)]).toEqual([node, before.get(node)]);
      expect(await differences(world.api, old, world.stack.hostRoot(node))).toEqual([]);
    }
    // The node that had rebooted also rebooted back; the other never did.
    expect(rebootsOf(world.record, FAILS_VERIFICATION, mark)).toHaveLength(2);
    expect(rebootsOf(world.record, FAILS_WRITING, mark)).toHaveLength(0);
    expect(world.node(FAILS_WRITING).annotations[REASON]).toContain('simulated input/output error');
    const others = world.workers.filter((node) => !failed.includes(node));
    expect(others.filter((node) => wasEverCordoned(world.record, node, mark))).toEqual([]);
    expect(cordonedBySlipway(world.record)).toEqual([]);

    const status = await world.slipway(['rollout', 'status', POOL]);
    expect(status.code).toBe(4);
    expect(status.out).toContain('Halted');
    expect(status.out).toContain('2 nodes failed');
    const node = await world.slipway(['node', 'status', FAILS_WRITING]);
    expect(node.code).toBe(4);
    expect(node.out).toMatch(/State: +Degraded/);
    expect(node.out).toContain('simulated input/output error');
    await world.until('the pool is degraded', () => poolCondition('NodeDegraded') === 'True');
    expect(poolCondition('Updated')).toBe('False');

    // A node that has not failed cannot be retried, and the answer says so in one line.
    const refused = await world.slipway(['node', 'retry', 'worker-5']);
    expect(refused).toMatchObject({ code: 4, out: '' });
    expect(refused.err).toMatch(/^slipway: worker-5 is neither failed nor held .*\n$/);

    const retry = await world.slipway(['node', 'retry', FAILS_VERIFICATION]);
    expect(retry).toMatchObject({ code: 0, out: '' });
    expect(retry.err).toBe(`node ${FAILS_VERIFICATION} will be tried again\n`);
    await world.allUpdatedTo(config, [FAILS_VERIFICATION]);
    await world.until(`${FAILS_BOOT} has failed`, () => hasFailed(FAILS_BOOT));
    await world.until(`${FAILS_BOOT} serves again`, () => serves(FAILS_BOOT));
    expect(await disk(FAILS_BOOT)).toEqual(before.get(FAILS_BOOT));

    for (const name of [FAILS_WRITING, FAILS_BOOT]) {
      expect((await world.retry(name)).code).toBe(0);
    }
    await world.allUpdatedTo(config);
    expect((await world.slipway(['rollout', 'status', POOL, '--watch'])).code).toBe(0);
    await world.until('the pool is well', () => poolCondition('Updated') === 'True');
    expect(poolCondition('Degraded')).toBe('False');
    for (const name of world.workers) {
      expect(world.node(name).annotations[REASON]).toBe('');
      expect(await differences(world.api, config, world.stack.hostRoot(name))).toEqual([]);
    }
    expect(world.record.violations).toEqual([]);
    expect(cordonedBySlipway(world.record)).toEqual([]);
  },
  STORY_MS,
);

test(
  'their errors tell nobody what is in the config, and Temporal knows who asked for the retry',
  async () => {
    expect(placesOf([SECRET], await toldBy(world))).toEqual([]);
    const { told, readable } = await inTemporal(world);
    expect(readable).toEqual([]);
    const { status } = await world.api.call<{ status: { userInfo: { username: string } } }>(
      'POST',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    );
    const rollout = told.filter(([name]) => name.startsWith(`pool-rollout/${POOL}`));
    expect(rollout.some(([, text]) => text.includes(`"by":"${status.userInfo.username}"`))).toBe(
      true,
    );
  },
  STORY_MS,
);

function poolCondition(type: string): string | undefined {
  return world.record.pool(POOL)?.conditions[type]?.status;
}
