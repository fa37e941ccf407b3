/**
 * The files of an update are written, and then no server can be reached: the machine rolls back by itself, without
 * a reboot.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { unconfirmedAfterReboot, goBackAlone } from '../../../../host/confirm/unconfirmed';
import { createExclusive } from '../../../../host/exclusive';
import type { HostPorts, UpdateHeader } from '../../../../host/ports';
import type { HostActivities } from '../../../../workflows/contracts/host';
import type { Host } from '../../../../host/host';
import { LAST_QUESTION_SECONDS } from '../../../../host/confirm/silence-timer';
import { ConfirmBeforeReboot } from '../../../../host/confirm/before-reboot';
import { createLogger, type Logger } from '../../../../process/logging';
import {
  aConfig,
  aFile,
  aHost,
  bootInto,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../a-host';

const OLD = aConfig('rendered-worker-old', {
  config: { storage: { files: [aFile('/etc/motd', 'old')] } },
});
const NEW = aConfig('rendered-worker-new', {
  config: { storage: { files: [aFile('/etc/motd', 'new')] } },
});
const REBOOTED = aConfig('rendered-worker-rebooted', {
  config: { storage: { files: [aFile('/etc/motd', 'new')] } },
  kernelArguments: ['nosmt'],
});
const OTHER = aConfig('rendered-worker-other', {
  config: { storage: { files: [aFile('/etc/motd', 'other')] } },
});
/** The answer to its later orders. */
const REFUSED = {
  name: 'OrderRefused',
  message: expect.stringMatching(/rolled back: Temporal was out of reach/) as string,
};
const POLICIES = { files: [{ path: '/etc/motd', actions: [{ type: 'None' as const }] }] };
/** Plan of a repair of drift. */
const PLAN = {
  files: { changed: ['/etc/motd'], removed: [] },
  units: { changed: [], removed: [] },
  actions: [],
  reboot: false,
} as unknown as UpdateHeader['plan'];

let machine: TestHost;
let ports: HostPorts;
let host: Host;
let word: ConfirmBeforeReboot;
let log: Logger;
let stop: AbortController;
let reboots: string[];
const motd = () => readFileSync(join(machine.root, 'etc/motd'), 'utf8');
const order = (step: string) => orderFor(NEW, step, { disruptionPolicies: POLICIES });
/** An order of another update of the same node. */
const later = (config: TestConfig, step: string) =>
  orderFor(config, step, {
    orderId: `update-node/worker-1/run-2/${step}`,
    disruptionPolicies: POLICIES,
  });

beforeEach(async () => {
  machine = await aHost([OLD, NEW, REBOOTED, OTHER]);
  await bootInto(machine, OLD);
  reboots = [];
  ports = await machine.ports();
  host = {
    node: 'worker-1',
    exclusive: createExclusive(),
    ports,
    reboot: async (reason) => void reboots.push(reason),
  };
  const destination = new Writable({ write: (_chunk, _encoding, done) => done() });
  log = createLogger({ process: 'test', level: 'error', destination });
  stop = new AbortController();
  word = aWord();
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
});
/** State of the running process. */
function aWord(its: Host = host): ConfirmBeforeReboot {
  return new ConfirmBeforeReboot(its, { signal: stop.signal, log });
}

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  machine.remove();
});

async function write(reconnectSeconds = 600): Promise<void> {
  const activities = await machine.activities();
  await activities.prepareUpdate(order('p'));
  await activities.applyUpdate({ ...order('a'), reconnectSeconds });
  await word.look();
}

/** By an update whose node is completed only after the commit. */
async function writeAndVerify(): Promise<HostActivities> {
  await write(90);
  const activities = await machine.activities();
  await activities.verifyUpdate(order('v'));
  return activities;
}

async function startAnew(): Promise<void> {
  stop.abort();
  stop = new AbortController();
  word = aWord();
  await word.look();
}

/** No server is reached for this time; resolves after all consequences. */
async function silence(seconds: number): Promise<void> {
  jest.advanceTimersByTime(seconds * 1000);
  await host.exclusive(async () => undefined);
}

/** Opens it, and the promise that waits for that. */
function aGate(): [open: () => void, opened: Promise<void>] {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return [() => open(), opened];
}

/** The process is frozen for hours and resumes: due timers fire late, before any other event. */
async function standstill(): Promise<void> {
  jest.advanceTimersToNextTimer();
  await host.exclusive(async () => undefined);
}

it('is rolled back when the time is over and the last question, too, without a reboot, and the update hears why', async () => {
  await write();
  expect(word.isAwaited).toBe(true);

  await silence(600 + LAST_QUESTION_SECONDS - 1);
  expect(motd()).toBe('new');
  await silence(1);

  expect(motd()).toBe('old');
  expect(word.isAwaited).toBe(false);
  const activities = await machine.activities();
  await expect(activities.performServiceActions(order('s'))).rejects.toMatchObject(REFUSED);
  await expect(activities.verifyUpdate(order('v'))).rejects.toMatchObject({
    name: 'VerifyFailed',
    message: expect.stringMatching(/Temporal was out of reach for 600 s after/) as string,
  });
  expect(await activities.goBack(order('b'))).toMatchObject({ rebooting: false });
  await activities.verifyBack(order('vb'));
  expect(reboots).toEqual([]);
});

it('is not written again when an order of it is repeated, or comes late', async () => {
  await write();
  await silence(600 + LAST_QUESTION_SECONDS);

  const activities = await machine.activities();
  await expect(activities.prepareUpdate(order('p'))).rejects.toMatchObject(REFUSED);
  await expect(activities.applyUpdate(order('a'))).rejects.toMatchObject(REFUSED);
  await expect(activities.armReboot(order('r'))).rejects.toMatchObject(REFUSED);
  expect(motd()).toBe('old');
});

it('is written by a later update that a person asks for', async () => {
  await write();
  await silence(600 + LAST_QUESTION_SECONDS);

  const activities = await machine.activities();
  await activities.prepareUpdate(later(NEW, 'p'));
  await activities.applyUpdate(later(NEW, 'a'));
  expect(motd()).toBe('new');
});

it('is not written again by the update that has taken it over', async () => {
  await write();
  const activities = await machine.activities();
  await activities.prepareUpdate(later(NEW, 'p'));

  await silence(600 + LAST_QUESTION_SECONDS);

  await expect(activities.applyUpdate(later(NEW, 'a'))).rejects.toMatchObject(REFUSED);
  expect(motd()).toBe('old');
});

it('leaves an update to another config as it is, which waits for the drain of its node', async () => {
  const restart = { type: 'Restart' as const, restart: { serviceName: 'motd.service' } };
  const drained = {
    files: [{ path: '/etc/motd', actions: [{ type: 'Drain' as const }, restart] }],
  };
  const policies = { disruptionPolicies: drained };
  const activities = await machine.activities();
  await activities.prepareUpdate({ ...order('p'), ...policies });
  await activities.applyUpdate({ ...order('a'), ...policies });
  await activities.performServiceActions({ ...order('s'), ...policies });
  await word.look();
  expect(await activities.prepareUpdate(later(OTHER, 'p'))).toMatchObject({ unsettled: true });

  await silence(600 + LAST_QUESTION_SECONDS);

  expect(motd()).toBe('old');
  await expect(activities.applyUpdate(later(OTHER, 'a'))).rejects.toMatchObject({
    name: 'EarlierUpdateLost',
  });
});

it('is not written again after a boot by accident either, in which nobody was reached', async () => {
  await write();
  await machine.boot();
  await goBackAlone(await machine.ports(), 'Temporal was out of reach');

  const activities = await machine.activities();
  await expect(activities.applyUpdate(order('a'))).rejects.toMatchObject(REFUSED);
  expect(motd()).toBe('old');
});

it('has the time that its order names, and half a minute at least', async () => {
  await write(90);
  await silence(90 + LAST_QUESTION_SECONDS - 1);
  expect(motd()).toBe('new');
  await silence(1);
  expect(motd()).toBe('old');
});

it('is not hurried by an order that names no time at all', async () => {
  await write(1);
  await silence(30 + LAST_QUESTION_SECONDS - 1);
  expect(motd()).toBe('new');
  await silence(1);
  expect(motd()).toBe('old');
});

it('stays as long as Temporal answers', async () => {
  await write();
  await silence(600);
  word.contact();
  await silence(600 + LAST_QUESTION_SECONDS - 1);
  expect(motd()).toBe('new');
  await silence(1);
  expect(motd()).toBe('old');
});

it('stays when the process stood still for longer than that, and Temporal answers when it goes on', async () => {
  await write();

  await standstill();
  expect(motd()).toBe('new');
  word.contact();
  await silence(600);

  expect(motd()).toBe('new');
  expect(word.isAwaited).toBe(true);
});

it('is rolled back after a standstill, too, when nobody answers as long as the process runs', async () => {
  await write();
  await standstill();

  await silence(600 + LAST_QUESTION_SECONDS);

  expect(motd()).toBe('old');
});

it('stays when Temporal answers while an order is still at work', async () => {
  await write();
  const [end, ended] = aGate();
  const working = host.exclusive(() => ended);
  jest.advanceTimersByTime((600 + LAST_QUESTION_SECONDS) * 1000);

  word.contact();
  end();
  await working;
  await host.exclusive(async () => undefined);

  expect(motd()).toBe('new');
});

it('stays when an order that is still at work decides it', async () => {
  await write();
  const activities = await machine.activities();
  const [begin, begun] = aGate();
  const verifying = host.exclusive(async () => {
    await begun;
    await activities.verifyUpdate(order('v'));
    await activities.commitUpdate(order('c'));
  });
  jest.advanceTimersByTime((600 + LAST_QUESTION_SECONDS) * 1000);

  begin();
  await verifying;
  await host.exclusive(async () => undefined);

  expect(motd()).toBe('new');
});

it('stays when this process is told to stop: the next one checks again', async () => {
  await write();

  stop.abort();
  await silence(600 + LAST_QUESTION_SECONDS);

  expect(motd()).toBe('new');
});

it('counts from the moment at which it is written, however long that takes', async () => {
  const activities = await machine.activities();
  await activities.prepareUpdate(order('p'));
  const [end, ended] = aGate();
  word.begin({ reconnectSeconds: 90 });
  const writing = host.exclusive(async () => {
    await activities.applyUpdate({ ...order('a'), reconnectSeconds: 90 });
    await ended;
  });
  jest.advanceTimersByTime(80_000);
  end();
  await writing;
  await word.look();

  await silence(10 + LAST_QUESTION_SECONDS - 1);
  expect(motd()).toBe('new');
  await silence(1);
  expect(motd()).toBe('old');
});

it('is rolled back as soon as it is written when the time was over before that', async () => {
  const activities = await machine.activities();
  await activities.prepareUpdate(order('p'));
  const [end, ended] = aGate();
  word.begin({ reconnectSeconds: 600 });
  const writing = host.exclusive(async () => {
    await activities.applyUpdate(order('a'));
    await ended;
  });
  jest.advanceTimersByTime((600 + LAST_QUESTION_SECONDS) * 1000);
  end();
  await writing;
  await word.look();

  expect(motd()).toBe('old');
});

it('is waited for no more when the order that was to write it is refused', async () => {
  word.begin({ reconnectSeconds: 600 });
  expect(word.isAwaited).toBe(true);

  await word.look();

  expect(word.isAwaited).toBe(false);
});

it('is rolled back in place until its commit, also when it was verified', async () => {
  const activities = await writeAndVerify();
  await word.look();
  expect(word.isAwaited).toBe(true);

  await silence(90 + LAST_QUESTION_SECONDS);

  expect(motd()).toBe('old');
  await expect(activities.commitUpdate(order('c'))).rejects.toMatchObject({
    name: 'RefusedRequest',
    message: expect.stringMatching(/rolled back: Temporal was out of reach for 90 s/) as string,
  });
  const back = await activities.goBack(order('b'));
  expect(back).toMatchObject({
    rebooting: false,
    because: expect.stringMatching(/out of reach for 90 s/) as string,
  });
  await activities.verifyBack(order('vb'));
  expect(reboots).toEqual([]);
});

it('is decided by its commit', async () => {
  await write();
  const activities = await machine.activities();
  await activities.verifyUpdate(order('v'));
  await activities.commitUpdate(order('c'));
  await word.look();

  expect(word.isAwaited).toBe(false);
  await silence(3_600);
  expect(motd()).toBe('new');
});

it('is decided by an answer that comes after the time in which its commit was to follow', async () => {
  await writeAndVerify();
  await word.look();
  machine.clock.uptime += 1_200;

  word.contact();
  // Also when an order ends that changed nothing.
  await word.look();

  expect(word.isAwaited).toBe(false);
  await silence(3_600);
  expect(motd()).toBe('new');
});

it('is waited for by a process that starts after that time, until the first answer', async () => {
  await writeAndVerify();
  machine.clock.uptime += 1_200;
  await startAnew();
  expect(word.isAwaited).toBe(true);

  word.contact();

  expect(word.isAwaited).toBe(false);
  await silence(3_600);
  expect(motd()).toBe('new');
});

it('is decided by that answer also for the processes after this one', async () => {
  await writeAndVerify();
  await word.look();
  machine.clock.uptime += 1_200;
  word.contact();
  await host.exclusive(async () => undefined);

  await startAnew();

  expect(word.isAwaited).toBe(false);
  await silence(3_600);
  expect(motd()).toBe('new');
});

it('is decided once that can be noted, where the first answer found the disk read-only', async () => {
  await writeAndVerify();
  await word.look();
  machine.clock.uptime += 1_200;
  const { journal } = host.ports;
  const open = jest.spyOn(journal, 'open').mockRejectedValueOnce(new Error('EROFS'));
  word.contact();
  await host.exclusive(async () => undefined);
  expect(open).toHaveBeenCalledTimes(1);
  word.contact();
  await host.exclusive(async () => undefined);

  await startAnew();

  expect(word.isAwaited).toBe(false);
});

it('is decided by no step of the clock: the update may be what set it', async () => {
  await writeAndVerify();
  await word.look();
  jest.spyOn(Date, 'now').mockReturnValue(machine.clock.now.getTime() + 86_400_000);

  word.contact();

  expect(word.isAwaited).toBe(true);
  await silence(90 + LAST_QUESTION_SECONDS);
  expect(motd()).toBe('old');
});

it.each([
  [
    'goes by a name',
    { node: 'localhost' },
    /the name of the machine to localhost, and orders for worker-1 do not reach it/,
  ],
  [
    'listens in a namespace',
    { namespace: 'elsewhere' },
    /the Temporal namespace of the host worker to elsewhere, and orders in slipway do not reach it/,
  ],
])(
  'is rolled back although Temporal answers, when the machine %s that no order reaches',
  async (_what, since, because) => {
    await write(90);
    host = { ...host, ...since, ports: { ...host.ports, ...since } };
    await startAnew();
    for (let seconds = 0; seconds <= 90 + LAST_QUESTION_SECONDS; seconds += 5) {
      word.contact();
      await silence(5);
    }
    expect(motd()).toBe('old');

    host = { ...host, node: 'worker-1', ports: await machine.ports() };
    const activities = await machine.activities();
    expect(await activities.goBack(order('b'))).toMatchObject({
      because: expect.stringMatching(because) as string,
    });
  },
);

it('is waited for although the program of the operating system does not answer after the verification', async () => {
  await writeAndVerify();
  const { os } = host.ports;
  const broken = { ...os, status: async () => Promise.reject(new Error('busy')) };
  Object.assign(host, { ports: { ...host.ports, os: broken } });
  await word.look();
  Object.assign(host, { ports: { ...host.ports, os } });
  expect(word.isAwaited).toBe(true);

  await silence(90 + LAST_QUESTION_SECONDS);

  expect(motd()).toBe('old');
});

it('is found by the next process of the same boot', async () => {
  await write();
  await silence(300);
  stop.abort();
  stop = new AbortController();
  word = aWord();
  await word.look();

  await silence(600 + LAST_QUESTION_SECONDS - 1);
  expect(motd()).toBe('new');
  await silence(1);
  expect(motd()).toBe('old');
});

describe('with a reboot', () => {
  async function writeRebooted(): Promise<HostActivities> {
    const activities = createHostActivities(ports);
    await activities.prepareUpdate(orderFor(REBOOTED, 'p'));
    await activities.applyUpdate({ ...orderFor(REBOOTED, 'a'), reconnectSeconds: 90 });
    await word.look();
    return activities;
  }

  it('is rolled back in place as long as that is not armed: a file that is written may cut the machine off', async () => {
    const { bootId, booted } = await ports.os.status();
    const activities = await writeRebooted();
    expect((await ports.os.status()).staged).toBeDefined();
    expect(word.isAwaited).toBe(true);

    await silence(90 + LAST_QUESTION_SECONDS);

    expect(motd()).toBe('old');
    const status = await ports.os.status();
    expect(status).toMatchObject({ bootId, booted });
    expect(status.staged).toBeUndefined();
    await expect(activities.armReboot(orderFor(REBOOTED, 'r'))).rejects.toMatchObject(REFUSED);
    expect(await activities.goBack(orderFor(REBOOTED, 'b'))).toMatchObject({ rebooting: false });
    await activities.verifyBack(orderFor(REBOOTED, 'vb'));
    expect([...reboots, ...machine.reboots]).toEqual([]);
  });

  it('stays as long as Temporal answers: its node may take hours to drain', async () => {
    await writeRebooted();
    for (let hours = 0; hours < 40; hours += 1) {
      await silence(90);
      word.contact();
    }
    expect(motd()).toBe('new');
  });

  it('is left to its reboot once that is armed, and confirmed after it', async () => {
    const activities = await writeRebooted();
    await activities.armReboot(orderFor(REBOOTED, 'r'));
    await word.look();

    expect(word.isAwaited).toBe(false);
  });
});

describe('that is written in part', () => {
  /** The file is written, and the next action does not complete. */
  async function writePart(): Promise<void> {
    const setKernelArguments = () => Promise.reject(new Error('cut off'));
    const os = { ...ports.os, setKernelArguments };
    const activities = createHostActivities({ ...ports, os });
    await activities.prepareUpdate(orderFor(REBOOTED, 'p'));
    const applied = activities.applyUpdate({
      ...orderFor(REBOOTED, 'a'),
      reconnectSeconds: 90,
    });
    await expect(applied).rejects.toThrow(/cut off/);
    expect(motd()).toBe('new');
  }

  it('is rolled back in place in the time of its order', async () => {
    await writePart();
    await word.look();
    await silence(90 + LAST_QUESTION_SECONDS - 1);
    expect(motd()).toBe('new');
    await silence(1);
    expect(motd()).toBe('old');
  });

  it('is found by the next process of the same boot, when the first has died', async () => {
    await writePart();
    const next = aWord({ ...host, ports: await machine.ports() });
    await next.look();
    await silence(90 + LAST_QUESTION_SECONDS);
    expect(motd()).toBe('old');
  });
});

it('does not apply to a first boot, which has no order and waits for no server', async () => {
  const activities = await machine.activities();
  await activities.prepareUpdate(orderFor(NEW, 'p', { orderId: 'first-boot/prepare' }));
  await activities.applyUpdate(orderFor(NEW, 'a', { orderId: `first-boot/${NEW.reference.name}` }));
  await word.look();

  expect(word.isAwaited).toBe(false);
});

it('is none that another boot has found: that one is confirmed with a reboot', async () => {
  await write();
  await machine.boot();
  host = { ...host, ports: await machine.ports() };
  const later = aWord();
  await later.look();

  expect(await unconfirmedAfterReboot(host.ports)).toBeDefined();
  expect(later.isAwaited).toBe(false);
});

it('is none that fixes drift: a repair that did not end is of no update', async () => {
  const { bootId, booted } = await host.ports.os.status();
  const { kernelArguments, extensions, kernelType } = booted;
  const journal = await host.ports.journal.begin('repair/1', {
    orderId: 'repair/1',
    node: host.node,
    driver: host.ports.os.name,
    target: OLD.reference,
    previous: OLD.reference,
    previousDeployment: booted.id,
    before: { bootId, kernelArguments, extensions, kernelType },
    repair: true,
    plan: PLAN,
  });
  await journal.mark({ kind: 'applied' });
  await word.look();

  expect(word.isAwaited).toBe(false);
});

it('is noted as rolled back once the disk is free, where it was full when that began', async () => {
  await write();
  const full = () => Promise.reject(new Error('no space left on device'));
  const { files } = host.ports;
  const writeFile = jest.spyOn(files, 'writeFile').mockImplementation(full);
  await silence(600 + LAST_QUESTION_SECONDS);
  expect(writeFile).toHaveBeenCalledWith('/var/lib/slipway/runs.json', expect.anything());
  writeFile.mockRestore();
  await silence(600 + LAST_QUESTION_SECONDS);

  expect(motd()).toBe('old');
  const activities = await machine.activities();
  await expect(activities.applyUpdate(order('a'))).rejects.toMatchObject(REFUSED);
});

describe('a rollback that does not end', () => {
  let discards: number;

  /** A process in which this part of the rollback fails that often. */
  function aProcess(failures: number): ConfirmBeforeReboot {
    const { os } = host.ports;
    let left = failures;
    const discard = async () => {
      discards += 1;
      left -= 1;
      if (left >= 0) throw new Error('input/output error');
      return os.discard();
    };
    const ports = { ...host.ports, os: { ...os, discard } };
    return aWord({ ...host, ports });
  }

  beforeEach(async () => {
    discards = 0;
    word = aProcess(1);
    await write();
    await silence(600 + LAST_QUESTION_SECONDS);
    expect(discards).toBe(1);
  });

  it('is tried again when the time is over once more', async () => {
    expect(word.isAwaited).toBe(true);

    await silence(600 + LAST_QUESTION_SECONDS);

    expect(discards).toBe(2);
    expect(word.isAwaited).toBe(false);
    await silence(3_600);
    expect(discards).toBe(2);
  });

  it('is gone on with by the next process', async () => {
    stop.abort();
    stop = new AbortController();
    const next = aProcess(0);
    await next.look();

    await silence(600 + LAST_QUESTION_SECONDS);

    expect(discards).toBe(2);
    expect(next.isAwaited).toBe(false);
    expect(motd()).toBe('old');
  });
});

it('is none that an order takes back: that one comes again', async () => {
  await write();
  await (await machine.activities()).goBack(order('b'));
  await word.look();

  expect(word.isAwaited).toBe(false);
});

it('reports to the poller of Temporal at intervals that it is waited for', async () => {
  const calls: string[] = [];
  const forget = word.onAwaited(() => calls.push('awaited'));
  await write();
  forget();
  await word.look();

  expect(calls).toEqual(['awaited']);
});
