/** One host with Temporal workers that come and go; the test plays Temporal. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NativeConnection } from '@temporalio/worker';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createExclusive } from '../../../../host/exclusive';
import { createLimit } from '../../../../core/concurrency-limit';
import { type ServedHost, type LastReboot, runHost } from '../../../../workers/host/loop';
import { createLogger } from '../../../../process/logging';
import type { HandedActivities, HostActivities } from '../../../../workflows/contracts/host';
import { signedOrder, TEST_KEY } from '../../../support/signed-orders';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../../host/a-host';

/** Actions of the next workers, in order. */
let lives: ((activities: HostActivities, end: Promise<void>) => Promise<void>)[] = [];
let created = 0;

/** Each order is signed on its way. */
function mockSigned(activities: HandedActivities): HostActivities {
  const signed = Object.entries(activities).map(([name, activity]) => {
    const obey = activity as (given: unknown) => Promise<unknown>;
    return [name, (order: object) => obey(signedOrder(order))];
  });
  return Object.fromEntries(signed) as HostActivities;
}

jest.mock('@temporalio/worker', () => ({
  ...jest.requireActual<object>('@temporalio/worker'),
  Worker: {
    create: async ({ activities }: { activities: HandedActivities }) => {
      created += 1;
      const life = lives.shift() ?? ((_activities, end) => end);
      const runUntil = (end: Promise<void>) => life(mockSigned(activities), end);
      return { runUntil, nativeWorker: {} };
    },
  },
}));

const NEW = aConfig('rendered-worker-new', {
  osImageURL: 'quay.io/os@sha256:2',
  config: { storage: { files: [aFile('/etc/motd', 'new')] } },
});
const OTHER = aConfig('rendered-worker-other', { osImageURL: 'quay.io/os@sha256:3' });
const log = createLogger({ process: 'test', level: 'silent' });

let machine: TestHost;
let host: ServedHost;
let stop: AbortController;
let reboots: string[];
beforeEach(async () => {
  lives = [];
  created = 0;
  reboots = [];
  stop = new AbortController();
  machine = await aHost([NEW, OTHER]);
  host = {
    node: 'worker-1',
    identity: 'test',
    keyring: { known: async () => TEST_KEY.keys, learn: async () => TEST_KEY.keys },
    exclusive: createExclusive(),
    ports: await machine.ports(),
    reboot: async (reason) => {
      reboots.push(reason);
      stop.abort();
    },
  };
});
afterEach(() => machine.remove());

const run = () =>
  runHost(host, {
    link: {
      connection: {} as NativeConnection,
      follow: () => () => undefined,
      untilSetUp: async () => undefined,
    },
    namespace: 'slipway',
    signal: stop.signal,
    log,
    limit: createLimit(1),
  });

/** In the future for the machine and for this process. */
const later = { notAfter: '2099-01-01T00:00:00Z' };
const give = (activities: HostActivities, step: 'prepareUpdate' | 'applyUpdate' | 'armReboot') =>
  new MockActivityEnvironment().run(activities[step], orderFor(NEW, step, later));

const bootId = async () => (await host.ports.os.status()).bootId;

async function arm(activities: HostActivities): Promise<void> {
  await give(activities, 'prepareUpdate');
  await give(activities, 'applyUpdate');
  await give(activities, 'armReboot');
}

describe('what an earlier connection left behind', () => {
  it('ends before the next one changes anything', async () => {
    let release = (): void => undefined;
    const left = host.exclusive(() => new Promise<void>((resolve) => (release = resolve)));

    const running = run();
    await new Promise((resolve) => setImmediate(resolve));
    expect(created).toBe(0);

    const polls = new Promise<void>((resolve) => {
      lives.push((_activities, end) => {
        resolve();
        return end;
      });
    });
    release();
    await left;
    await polls;
    expect(created).toBe(1);
    stop.abort();
    await running;
  });
});

describe('a reboot that was asked for', () => {
  it('comes also when the worker does not stop as it should', async () => {
    lives.push(async (activities, end) => {
      await arm(activities);
      await end;
      throw new Error('shut down by force');
    });

    await run();

    expect(reboots).toEqual(['update to rendered-worker-new']);
    expect(created).toBe(1);
  });

  it('does not come when the update was rolled back meanwhile', async () => {
    lives.push(async (activities) => {
      await arm(activities);
      const back = await new MockActivityEnvironment().run(
        activities.goBack,
        orderFor(NEW, 'goBack', later),
      );
      expect(back).toMatchObject({ rebooting: false });
    });
    lives.push(async () => stop.abort());

    await run();

    expect(reboots).toEqual([]);
    expect(created).toBe(2);
    expect(() => readFileSync(join(machine.root, 'etc/motd'))).toThrow('ENOENT');
  });

  it('does not come when the next update has undone what it was for', async () => {
    lives.push(async (activities) => {
      await arm(activities);
      // It had been picked up before the worker was told to end.
      const orderId = 'update-node/worker-1/run-2/prepareUpdate';
      await new MockActivityEnvironment().run(
        activities.prepareUpdate,
        orderFor(OTHER, 'prepareUpdate', { ...later, orderId }),
      );
    });
    lives.push(async () => stop.abort());

    await run();

    expect(reboots).toEqual([]);
    expect(created).toBe(2);
    const { staged } = await host.ports.os.status();
    expect(staged).toMatchObject({ image: 'quay.io/os@sha256:3', locked: true });
  });

  it('does not come when its order has expired before the worker has ended', async () => {
    lives.push(async (activities) => {
      await arm(activities);
      const journal = await host.ports.journal.open();
      const armed = journal?.marks().findLast((mark) => mark.kind === 'armed');
      if (armed?.kind !== 'armed') throw new Error('nothing is armed');
      await journal?.mark({ ...armed, notAfter: '2020-01-01T00:00:00Z' });
    });
    lives.push(async () => stop.abort());

    await run();

    expect(reboots).toEqual([]);
    expect(() => readFileSync(join(machine.root, 'etc/motd'))).toThrow('ENOENT');
  });

  it('is not tried again by the next connection when the machine did not go down', async () => {
    const lastReboot: LastReboot = {};
    host = {
      ...host,
      lastReboot,
      reboot: async (reason) => {
        reboots.push(reason);
        throw new Error('the machine did not go down');
      },
    };
    let serves = 0;
    lives.push(arm);
    for (let connection = 1; connection <= 2; connection += 1) {
      lives.push(async (activities) => {
        serves += 1;
        const order = { ...orderFor(NEW, 'verifyUpdate', later), rebootedFrom: await bootId() };
        await expect(
          new MockActivityEnvironment().run(activities.verifyUpdate, order),
        ).rejects.toThrow('is still in boot');
        expect(lastReboot.problem).toBe('the machine did not go down');
        stop.abort();
      });
      await run();
      stop = new AbortController();
    }

    expect(serves).toBe(2);
    expect(reboots).toEqual(['update to rendered-worker-new']);
  });

  it('is seen to by the next connection when this one ends before it, whatever an earlier one did', async () => {
    const lastReboot: LastReboot = { problem: 'the machine did not go down for the last update' };
    host = { ...host, lastReboot };
    lives.push(async (activities) => {
      await arm(activities);
      stop.abort();
    });
    await run();
    expect(reboots).toEqual([]);
    stop = new AbortController();

    await run();

    expect(reboots).toEqual(['update to rendered-worker-new']);
  });
});
