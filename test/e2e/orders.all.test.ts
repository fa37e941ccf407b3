/** Who may write to Temporal, and who has stolen a machine, bring no config to a machine; the key of orders is rolled. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import {
  ApplicationFailure,
  defaultPayloadConverter,
  WorkflowNotFoundError,
  type Payload,
} from '@temporalio/common';
import { temporal as protocol } from '@temporalio/proto';
import { CLUSTER_QUEUE, hostQueue, poolRolloutId, updateNodeId } from '../../core/names';
import { withOpenPayloads } from '../../process/temporal/open-payloads';
import { PayloadKeyFiles } from '../../process/temporal/payload-keys';
import { wrapToken } from '../../server/gateway/task-tokens';
import { tokenKeys } from '../../server/gateway/token-keys';
import { temporalClient } from '../../tools/temporal';
import { call, framed, openSession } from '../integration/server/grpc-client';
import { describedCalls, oddCalls, passingCalls } from '../integration/server/hostile-calls';
import { machineConfig, plainFile } from './support/configs';
import { differences } from './support/host-disk';
import {
  CURRENT_CONFIG,
  DESIRED_CONFIG,
  START_MS,
  startWorld,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

const NODE = 'worker-0';
const POLL_MS = 60_000;
const SECRET = '/api/v1/namespaces/slipway/secrets/slipway-order-key';
const KEYS = '/api/v1/namespaces/slipway/configmaps/slipway-order-keys';

let world: World;
let client: Client;

beforeAll(async () => {
  world = await startWorld({ nodes: { master: 1, worker: 4 } });
  client = await temporalClient(world.stack.temporal);
}, START_MS);

afterAll(async () => {
  await client?.connection.close();
  await world?.stop();
}, STOP_MS);

const motd = (text: string) =>
  machineConfig('50-motd', { files: [plainFile('/etc/motd', text)], kernelArguments: [text] });

async function presentKey(): Promise<string> {
  const { data } = await world.api.call<{ data: Readonly<Record<string, string>> }>('GET', KEYS);
  const { keys } = JSON.parse(data['keys.json'] ?? '') as { keys: readonly { id: string }[] };
  return keys[0]?.id ?? '';
}

interface Given {
  readonly step: string;
  readonly argument: unknown;
}

/** What the last update of a node was started with, and what it has handed to the host. */
async function historyOf(node: string): Promise<{ input: object; given: readonly Given[] }> {
  const { events: sent } = await client.workflow.getHandle(updateNodeId(node)).fetchHistory();
  const { payloadCodecs } = client.options.loadedDataConverter;
  const events = await withOpenPayloads(sent ?? [], payloadCodecs);
  const valueOf = (payloads: readonly Payload[] | null | undefined): unknown =>
    defaultPayloadConverter.fromPayload(payloads?.[0] ?? {});
  const started = events[0]?.workflowExecutionStartedEventAttributes;
  const scheduled = events.flatMap(({ activityTaskScheduledEventAttributes: one }) =>
    one?.taskQueue?.name === hostQueue(node) ? [one] : [],
  );
  return {
    input: valueOf(started?.input?.payloads) as object,
    given: scheduled.map(({ activityType, input }) => ({
      step: activityType?.name ?? '',
      argument: valueOf(input?.payloads),
    })),
  };
}

async function refusalOf(work: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await work.then(
    () => new Error('it was obeyed'),
    (failure: unknown) => failure,
  );
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof ApplicationFailure) return at;
  }
  throw error;
}

test(
  'the key is rolled in the middle of a rollout, and the hosts follow it',
  async () => {
    await world.allUpdatedTo(await world.roll(motd('one')));
    const before = await presentKey();
    const target = await world.roll(motd('two'));
    await world.until('a node is done', () =>
      world.workers.some((name) => world.node(name).annotations[CURRENT_CONFIG] === target),
    );

    await world.api.call('PATCH', SECRET, {
      metadata: { annotations: { 'slipway.dev/renew': 'now' } },
    });
    await world.allUpdatedTo(target);

    const now = await presentKey();
    expect(now).not.toBe(before);
    const learned = world.workers.filter((name) => {
      const file = join(world.stack.hostRoot(name), 'var/lib/slipway/order-keys.json');
      return existsSync(file) && readFileSync(file, 'utf8').includes(now);
    });
    expect(learned.length).toBeGreaterThan(0);
    // All of them obey the new key.
    await world.allUpdatedTo(await world.roll(motd('three')));
    const { given } = await historyOf(NODE);
    expect(given.map(({ argument }) => (argument as { keyId: string }).keyId)).toEqual(
      given.map(() => now),
    );
  },
  STORY_MS,
);

test(
  'an update that a person starts by hand, and orders that come again, change nothing',
  async () => {
    const old = world.target();
    const earlier = await historyOf(NODE);
    const target = await world.roll(motd('four'));
    await world.allUpdatedTo(target);

    const byHand = client.workflow.execute('updateNode', {
      workflowId: updateNodeId(NODE),
      taskQueue: CLUSTER_QUEUE,
      args: [{ ...earlier.input, found: 'whole' }],
    });
    expect(await refusalOf(byHand)).toMatchObject({
      type: 'OrderOutdated',
      message: expect.stringContaining(`the target of pool worker is ${target}`) as string,
    });

    expect(earlier.given.map(({ step }) => step)).toContain('armReboot');
    for (const [index, { step, argument }] of earlier.given.entries()) {
      const again = await client.activity.start(step, {
        id: `again-${index}`,
        taskQueue: hostQueue(NODE),
        args: [argument],
        scheduleToCloseTimeout: '30s',
      });
      expect(await refusalOf(again.result())).toMatchObject({
        type: 'OrderRefused',
        message: expect.stringContaining('that a later one has replaced') as string,
      });
    }
    expect(old).not.toBe(target);
    expect(await differences(world.api, target, world.stack.hostRoot(NODE))).toEqual([]);
  },
  STORY_MS,
);

/** Of a node of the cluster. */
function filesOf(node: string) {
  const { directory, caFile } = world.stack.cluster;
  const at = join(directory, 'credentials', 'nodes', node);
  return { certFile: join(at, 'tls.crt'), keyFile: join(at, 'tls.key'), caFile };
}

const openAs = (node: string) =>
  openSession(`https://${world.stack.product.gatewayAddress}`, filesOf(node));

/**
 * An open task of no rollout, which no worker takes: its queue is of no machine.
 *
 * @returns Temporal's own token
 */
async function openTask(id: string): Promise<Uint8Array> {
  const queue = 'host/no-machine';
  await client.activity.start('never', {
    id,
    taskQueue: queue,
    startToCloseTimeout: '30m',
    retry: { maximumAttempts: 1 },
  });
  const { namespace } = world.stack.temporal;
  const poll = { namespace, taskQueue: { name: queue }, identity: 'test' };
  // Temporal takes no poll without a limit.
  const { taskToken } = await client.withDeadline(Date.now() + POLL_MS, () =>
    client.workflowService.pollActivityTaskQueue(poll),
  );
  return taskToken;
}

/** As the gateway hands it to this host. */
function handedTo(node: string, token: Uint8Array): Uint8Array {
  const directory = world.stack.temporal.payloadKeys?.directory ?? '';
  const keys = new PayloadKeyFiles(directory, { log: { warn: () => undefined } });
  return wrapToken(token, node, tokenKeys(keys));
}

async function isRunning(workflowId: string): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** The updates that run now. */
async function runningUpdates(): Promise<readonly string[]> {
  const ids = world.workers.map(updateNodeId);
  const running = await Promise.all(ids.map(isRunning));
  return ids.filter((_id, index) => running[index]);
}

test(
  'a stolen machine tries every call again and again, and the rollout goes through',
  async () => {
    const thief = 'master-0';
    const { namespace } = world.stack.temporal;
    const [token, ownToken] = [await openTask('stolen'), await openTask('own')];
    const handed = handedTo(NODE, token);
    const rollout = poolRolloutId('worker');
    const aims = (update: string) => ({
      ...{ namespace, thief, victim: NODE },
      targets: [
        { workflowId: update, activityId: '1' },
        { workflowId: rollout, activityId: '1' },
        { workflowId: '', activityId: 'stolen' },
      ],
      tokens: [handed, token],
      ownToken: handedTo(thief, ownToken),
    });
    const target = await world.roll(motd('five'));
    const isOver = world.allUpdatedTo(target).then(() => true);
    await world.until('an update runs', () =>
      world.workers.some((name) => world.node(name).annotations[DESIRED_CONFIG] === target),
    );

    const aimedAt = new Set<string>();
    const passed = [];
    let tried = 0;
    do {
      const [update] = await runningUpdates();
      if (update !== undefined && (await isRunning(rollout))) aimedAt.add(update);
      const aim = aims(update ?? updateNodeId(NODE));
      const calls = [...describedCalls(aim), ...oddCalls(aim)];
      passed.push(...(await passingCalls(calls, () => openAs(thief))));
      tried += calls.length;
    } while (!(await Promise.race([isOver, Promise.resolve(false)])));

    process.stdout.write(`tried ${tried}, refused ${tried - passed.length}\n`);
    expect(passed).toEqual([]);
    expect(tried).toBeGreaterThan(250);
    // What it aimed at was there, and the token is of use to whom it was handed.
    expect([...aimedAt]).not.toEqual([]);
    const victim = await openAs(NODE);
    const { RecordActivityTaskHeartbeatRequest } = protocol.api.workflowservice.v1;
    const heartbeat = RecordActivityTaskHeartbeatRequest.encode({ namespace, taskToken: handed });
    const answer = await call(
      victim,
      '/temporal.api.workflowservice.v1.WorkflowService/RecordActivityTaskHeartbeat',
      framed(heartbeat.finish()),
    );
    victim.close();
    expect(answer).toMatchObject({ http: 200, code: 0 });
    expect((await client.activity.getHandle('stolen').describe()).status).toBe('RUNNING');
  },
  STORY_MS,
);
