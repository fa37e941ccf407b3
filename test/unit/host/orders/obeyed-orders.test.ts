/** Which signed orders a host obeys: by their pool, their generation, and what it has done of their update. */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostActivities, HostOrder, HostStep } from '../../../../workflows/contracts/host';
import {
  aConfig,
  aFile,
  aHost,
  bootInto,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../a-host';

const A = aConfig('rendered-worker-a', {
  config: { storage: { files: [aFile('/etc/motd', 'a')] } },
});
const B = aConfig('rendered-worker-b', {
  config: { storage: { files: [aFile('/etc/motd', 'b')] } },
});
const C = aConfig('rendered-infra-c', {
  config: { storage: { files: [aFile('/etc/motd', 'c')] } },
});

let host: TestHost;
let activities: HostActivities;
let runs = 0;
beforeEach(async () => {
  host = await aHost([A, B, C]);
  activities = await host.activities();
});
afterEach(() => host.remove());

const motd = () => readFileSync(join(host.root, 'etc/motd'), 'utf8');

/** The orders of one more update. */
function anUpdate(config: TestConfig, more: Partial<HostOrder> = {}) {
  runs += 1;
  const run = runs;
  return (step: HostStep, phase: string = step) =>
    orderFor(config, step, { orderId: `update-node/worker-1/run-${run}/${phase}`, ...more });
}

type Update = ReturnType<typeof anUpdate>;

const worker = (generation: number) => ({
  pool: { name: 'worker', uid: 'pool-worker', generation },
});
const infra = (generation: number) => ({ pool: { name: 'infra', uid: 'pool-infra', generation } });

async function carryOut(update: Update): Promise<void> {
  const steps = ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate'] as const;
  for (const step of steps) await activities[step](update(step));
}

async function refuses(order: HostOrder, because: RegExp): Promise<void> {
  const fetched = host.fetched.length;
  const given = activities[order.step] as (one: HostOrder) => Promise<unknown>;
  await expect(given(order)).rejects.toMatchObject({
    name: 'OrderRefused',
    message: expect.stringMatching(because) as string,
  });
  expect(host.fetched).toHaveLength(fetched);
}

describe('the target of a pool', () => {
  it('is taken: A, then B, then A again, each of a later generation', async () => {
    await carryOut(anUpdate(A, worker(1)));
    await carryOut(anUpdate(B, worker(2)));
    await carryOut(anUpdate(A, worker(3)));

    expect(motd()).toBe('a');
  });

  it('is refused when it is older than one that was accepted', async () => {
    await carryOut(anUpdate(A, worker(1)));
    await carryOut(anUpdate(B, worker(2)));

    await refuses(
      anUpdate(A, worker(1))('prepareUpdate'),
      /of generation 1 of pool worker, and worker-1 has accepted 2/,
    );
    expect(motd()).toBe('b');
  });

  it('is refused also when the later one was only prepared', async () => {
    await carryOut(anUpdate(A, worker(1)));
    await activities.prepareUpdate(anUpdate(B, worker(5))('prepareUpdate'));

    await refuses(anUpdate(A, worker(4))('prepareUpdate'), /has accepted 5/);
  });

  it('is taken at the same generation: the update is tried again', async () => {
    await activities.prepareUpdate(anUpdate(A, worker(1))('prepareUpdate'));
    await carryOut(anUpdate(A, worker(1)));

    expect(motd()).toBe('a');
  });

  it('is known to the next process', async () => {
    await carryOut(anUpdate(A, worker(7)));
    activities = await host.activities();

    await refuses(anUpdate(B, worker(6))('prepareUpdate'), /has accepted 7/);
  });
});

describe('the way back', () => {
  const back = (config: TestConfig, generation: number) =>
    anUpdate(config, { ...worker(generation), takesBack: true });

  it('leads to what the host runs, or ran before, whatever generation its order is of', async () => {
    await carryOut(anUpdate(A, worker(1)));
    await carryOut(anUpdate(B, worker(2)));

    await carryOut(back(B, 1));
    await carryOut(back(A, 1));

    expect(motd()).toBe('a');
  });

  it('leads nowhere else', async () => {
    await carryOut(anUpdate(A, worker(1)));
    await carryOut(anUpdate(B, worker(2)));

    await refuses(back(C, 3)('prepareUpdate'), /back to rendered-infra-c, which it did not run/);
  });

  it('raises no generation: the target stays what it was', async () => {
    await carryOut(anUpdate(A, worker(2)));
    await activities.prepareUpdate(back(A, 9)('prepareUpdate'));

    await carryOut(anUpdate(B, worker(2)));
    expect(motd()).toBe('b');
  });
});

describe('another pool', () => {
  beforeEach(() => carryOut(anUpdate(A, worker(4))));

  it('is obeyed when its order says that the node has moved', async () => {
    const order = anUpdate(C, infra(1))('prepareUpdate');
    const refusal: unknown = await activities.prepareUpdate(order).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      name: 'OrderRefused',
      message: expect.stringMatching(
        /is of pool infra \(UID pool-infra\), and worker-1 is in that with UID pool-worker/,
      ) as string,
      details: { isInPool: 'pool-worker' },
    });

    await carryOut(anUpdate(C, { ...infra(1), movedFrom: 'pool-worker' }));

    expect(motd()).toBe('c');
  });

  it('is the one of the same name that was made anew', async () => {
    const anew = { pool: { name: 'worker', uid: 'pool-worker-2', generation: 1 } };
    await refuses(anUpdate(B, anew)('prepareUpdate'), /it has not heard that it moves/);

    await carryOut(anUpdate(B, { ...anew, movedFrom: 'pool-worker' }));
    expect(motd()).toBe('b');
  });

  it('is refused when the move is from elsewhere', async () => {
    const elsewhere = anUpdate(C, { ...infra(1), movedFrom: 'pool-other' });
    await refuses(elsewhere('prepareUpdate'), /it has not heard that it moves/);
  });

  it('does not make the first one forget its generation', async () => {
    await carryOut(anUpdate(C, { ...infra(1), movedFrom: 'pool-worker' }));

    const home = (generation: number) =>
      anUpdate(B, { ...worker(generation), movedFrom: 'pool-infra' });
    await refuses(home(3)('prepareUpdate'), /has accepted 4/);
    await carryOut(home(5));
    expect(motd()).toBe('b');
  });
});

describe('the order of phases', () => {
  beforeEach(() => bootInto(host, A));

  it.each([
    'applyUpdate',
    'performServiceActions',
    'armReboot',
    'verifyUpdate',
    'commitUpdate',
    'goBack',
    'verifyBack',
  ] as const)('begins with the preparation, not with %s', async (step) => {
    await refuses(anUpdate(B)(step), /is out of turn: worker-1 has not prepared its update/);
    expect(motd()).toBe('a');
  });

  it('does not go on after a preparation that failed, until that is repeated', async () => {
    const update = anUpdate(B);
    writeFileSync(join(host.root, 'etc/motd'), 'somebody was here');
    await expect(activities.prepareUpdate(update('prepareUpdate'))).rejects.toMatchObject({
      name: 'ConfigDrift',
    });
    writeFileSync(join(host.root, 'etc/motd'), 'a');
    await refuses(update('applyUpdate'), /has not prepared its update/);

    await carryOut(update);
    expect(motd()).toBe('b');
  });

  it('needs a proof before the commit', async () => {
    const update = anUpdate(B);
    await activities.prepareUpdate(update('prepareUpdate'));
    await activities.applyUpdate(update('applyUpdate'));

    await refuses(update('commitUpdate'), /has not verified its update/);

    await activities.verifyUpdate(update('verifyUpdate'));
    await activities.commitUpdate(update('commitUpdate'));
  });

  it('ends with the way back', async () => {
    const update = anUpdate(B);
    await activities.prepareUpdate(update('prepareUpdate'));
    await activities.applyUpdate(update('applyUpdate'));
    await activities.goBack(update('goBack'));

    await refuses(update('applyUpdate'), /was rolled back/);
  });

  it('may end before it began: what is staged is dropped', async () => {
    await activities.prepareUpdate(anUpdate(B)('prepareUpdate'));

    expect(await activities.discardStaged(anUpdate(B)('discardStaged'))).toEqual({
      currentConfig: 'rendered-worker-a',
    });
  });

  it('does not end for an order to drop it that comes late, of an update that nobody knows', async () => {
    const update = anUpdate(B);
    await activities.prepareUpdate(update('prepareUpdate'));
    const late = { ...anUpdate(B)('discardStaged'), notAfter: '2029-12-31T00:00:00Z' };

    await refuses(late, /expired at/);

    await activities.applyUpdate(update('applyUpdate'));
    host.clock.now = new Date('2031-01-01T00:00:00Z');
    await activities.goBack(update('goBack'));
    await activities.discardStaged(update('discardStaged'));
    expect(motd()).toBe('a');
  });

  it('is unknown to a host without a record, which can be asked and sent back', async () => {
    rmSync(join(host.root, 'var/lib/slipway/runs.json'));
    const update = anUpdate(B);

    await refuses(update('applyUpdate'), /has not prepared its update/);
    expect(await activities.goBack(update('goBack'))).toMatchObject({ rebooting: false });
  });
});

describe('an order that comes again', () => {
  it('changes nothing, whatever became of its update', async () => {
    const first = anUpdate(A, worker(1));
    await carryOut(first);
    const second = anUpdate(B, worker(2));
    await carryOut(second);

    for (const step of ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate'] as const) {
      await refuses(first(step), /that a later one has replaced/);
    }
    for (const step of ['prepareUpdate', 'applyUpdate', 'armReboot'] as const) {
      await refuses(second(step), /is of an update that is committed/);
    }
    await activities.commitUpdate(second('commitUpdate'));
    for (const step of ['goBack', 'verifyBack', 'discardStaged'] as const) {
      await refuses(first(step), /that a later one has replaced/);
    }
    expect(motd()).toBe('b');
    expect(existsSync(join(host.root, 'var/lib/slipway/desired.json'))).toBe(false);
  });
});
