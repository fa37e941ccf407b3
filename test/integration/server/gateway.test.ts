import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { installTemporalRuntime } from '../../../process/temporal/runtime';
import { createLogger } from '../../../process/logging';
import { hostQueue } from '../../../core/names';
import { temporalClient } from '../../../tools/temporal';
import { eventually } from '../kube/fixture';
import {
  startGatewayFixture,
  startWorker,
  type GatewayFixture,
  type RunningGateway,
} from './gateway-fixture';

jest.setTimeout(240_000);

const NODE = 'worker-1';

let fixture: GatewayFixture;
let client: Client;
let gateway: RunningGateway;
let run = 0;
/** A worker that a failed test leaves takes the orders of the next one. */
const running = new Set<() => Promise<void>>();

beforeAll(async () => {
  fixture = await startGatewayFixture();
  client = await temporalClient(fixture.temporal);
  installTemporalRuntime(createLogger({ process: 'test', level: 'silent' }));
  gateway = await fixture.start();
});

afterEach(async () => {
  await Promise.all([...running].map((stop) => stop()));
  running.clear();
});

afterAll(async () => {
  await gateway?.stop();
  await client?.connection.close();
  await fixture?.stop();
});

async function worker(activities: object) {
  const files = await fixture.filesOf(NODE);
  const place = { node: NODE, files, namespace: fixture.temporal.namespace };
  const { stop } = await startWorker(gateway, place, activities);
  running.add(stop);
  return {
    stop: async () => {
      running.delete(stop);
      await stop();
    },
  };
}

function order(activity: string, ...args: readonly unknown[]) {
  run += 1;
  return client.activity.start<unknown>(activity, {
    id: `${activity}-${run}`,
    taskQueue: hostQueue(NODE),
    args: [...args],
    startToCloseTimeout: '120s',
    heartbeatTimeout: '20s',
    retry: { initialInterval: '200ms', maximumInterval: '1s' },
  });
}

function signalOf(): readonly [Promise<void>, () => void] {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return [given, () => give()];
}

const echo = async (text: string): Promise<string> => `${text} from ${NODE}`;

describe('a host worker at the gateway', () => {
  it('gets orders, answers, fails and hears of a cancellation', async () => {
    const { stop } = await worker({
      echo,
      async refuse() {
        throw new Error('no such image');
      },
      async hold() {
        for (;;) {
          Context.current().heartbeat({ at: 'holding' });
          await Context.current().sleep(500);
        }
      },
    });

    expect(await (await order('echo', 'hello')).result()).toBe('hello from worker-1');

    const refused = await client.activity.start('refuse', {
      id: 'refuse',
      taskQueue: hostQueue(NODE),
      startToCloseTimeout: '30s',
      retry: { maximumAttempts: 1 },
    });
    await expect(refused.result()).rejects.toMatchObject({ cause: { message: 'no such image' } });

    const held = await order('hold');
    await eventually(async () => {
      expect(await held.describe({ includeHeartbeatDetails: true })).toMatchObject({
        lastWorkerIdentity: `slipway-host@${NODE}`,
        hasHeartbeatDetails: true,
      });
    });
    await held.cancel('not needed');
    await expect(held.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });

    await stop();
    // All that a worker calls, from its start to its end.
    expect(await gateway.calls()).toEqual([
      'DescribeNamespace',
      'GetSystemInfo',
      'PollActivityTaskQueue',
      'RecordActivityTaskHeartbeat',
      'RespondActivityTaskCanceled',
      'RespondActivityTaskCompleted',
      'RespondActivityTaskFailed',
      'ShutdownWorker',
    ]);
    const said = gateway.log.flatMap(({ level, msg }) => (level === 'info' ? [] : [msg]));
    expect(said).toEqual(['the connection is not encrypted']);
  });

  it('polls again after a restart of Temporal', async () => {
    const { stop } = await worker({ echo });
    await (await order('echo', 'before')).result();
    const linesBefore = gateway.log.length;

    await fixture.temporal.restart();
    await eventually(async () => {
      expect(await (await order('echo', 'after')).result()).toBe('after from worker-1');
    });

    await stop();
    expect(gateway.log.length - linesBefore).toBeLessThan(5);
  });

  it('goes on with an order while the gateway restarts', async () => {
    const [began, begin] = signalOf();
    const [mayEnd, end] = signalOf();
    let times = 0;
    const { stop } = await worker({
      echo,
      async work() {
        times += 1;
        begin();
        await mayEnd;
        return 'done';
      },
    });
    const work = await order('work');
    await began;

    const { log } = gateway;
    await gateway.stop();
    gateway = await fixture.start();
    end();

    expect(await work.result()).toBe('done');
    expect(times).toBe(1);
    expect(await (await order('echo', 'again')).result()).toBe('again from worker-1');
    // Its poll ended at once: it did not wait for the minute of a poll.
    expect(log.map(({ msg }) => msg)).not.toContain('cut off: they did not end in time');
    await stop();
  });
});

describe('the payloads of a host', () => {
  it('are readable on the host alone', async () => {
    const { stop } = await worker({
      async tell(text: string) {
        Context.current().heartbeat(`${text} progress`);
        if (text === 'fail') throw new Error(`${text} message`);
        return `${text} result`;
      },
    });
    const start = (text: string) =>
      client.activity.start('tell', {
        id: `tell-${text}`,
        taskQueue: hostQueue(NODE),
        args: [text],
        startToCloseTimeout: '30s',
        heartbeatTimeout: '20s',
        retry: { maximumAttempts: 1 },
      });

    const told = await start('ok');
    expect(await told.result()).toBe('ok result');
    const failed = await start('fail');
    await expect(failed.result()).rejects.toMatchObject({ cause: { message: 'fail message' } });

    // What everybody sees who reads Temporal.
    for (const id of ['tell-ok', 'tell-fail']) {
      const raw = await client.workflowService.describeActivityExecution({
        namespace: fixture.temporal.namespace,
        activityId: id,
        includeInput: true,
        includeOutcome: true,
      });
      const seen = JSON.stringify(raw.toJSON());
      expect(seen).toContain(Buffer.from('binary/encrypted').toString('base64'));
      for (const text of ['ok progress', 'ok result', 'fail progress', 'fail message'])
        for (const plain of [text, Buffer.from(`"${text}"`).toString('base64')])
          expect(seen).not.toContain(plain);
    }
    await stop();
    await gateway.stop();
    gateway = await fixture.start();
  });
});

describe('a gateway without Temporal', () => {
  it('lets hosts wait, and says so once', async () => {
    const { temporal } = fixture;
    await temporal.kill();
    const { stop } = await worker({ echo }).catch((error: unknown) => {
      expect(String(error)).toMatch(/unavailable/);
      return { stop: async () => undefined };
    });
    await temporal.restart();
    await stop();
    await eventually(async () => {
      const again = await worker({ echo });
      expect(await (await order('echo', 'back')).result()).toBe('back from worker-1');
      await again.stop();
    });
    const silences = gateway.log.filter(({ msg }) => msg === 'waiting for server');
    expect(silences.length).toBeLessThanOrEqual(1);
  });
});
