/** Actions of the worker of one machine before it reaches Temporal. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir, uptime } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createExclusive } from '../../../../host/exclusive';
import { fail } from '../../../../core/errors';
import {
  confirmAfterReboot,
  goBackAndReboot,
  secondsSinceBoot,
} from '../../../../host/confirm/after-reboot';
import type { ServedHost } from '../../../../workers/host/loop';
import { settleHost, settlingAgain } from '../../../../host/settle/settle-again';
import { LAST_QUESTION_SECONDS } from '../../../../host/confirm/silence-timer';
import { createNotifier, watchdogMs } from '../../../../process/host/systemd-notify';
import { createLogger, type Logger } from '../../../../process/logging';
import { TEST_KEY } from '../../../support/signed-orders';
import {
  aConfig,
  aCopyOf,
  aFile,
  aHost,
  bootInto,
  orderFor,
  type TestHost,
} from '../../host/a-host';

const OLD = aConfig('rendered-worker-old', {
  osImageURL: 'quay.io/os@sha256:1',
  config: { storage: { files: [aFile('/etc/motd', 'old')] } },
});
const NEW = aConfig('rendered-worker-new', {
  osImageURL: 'quay.io/os@sha256:2',
  config: { storage: { files: [aFile('/etc/motd', 'new')] } },
});

let machine: TestHost;
let host: ServedHost;
let log: Logger;
let lines: Record<string, unknown>[];
/** In order, each with the file at that moment. */
let events: string[];
/** Time for the last question after the limit. */
const LAST_MS = LAST_QUESTION_SECONDS * 1000;
const motd = () => readFileSync(join(machine.root, 'etc/motd'), 'utf8');

let armed: TestHost;
beforeAll(async () => {
  armed = await aHost([OLD, NEW]);
  await bootInto(armed, OLD);
  const activities = await armed.activities();
  await activities.prepareUpdate(orderFor(NEW, 'p'));
  await activities.applyUpdate(orderFor(NEW, 'a'));
  await activities.armReboot(orderFor(NEW, 'r'));
});
afterAll(() => armed.remove());

beforeEach(async () => {
  machine = await aCopyOf(armed);
  lines = [];
  events = [];
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  log = createLogger({ process: 'test', level: 'debug', destination });
  await refresh();
});
afterEach(() => machine.remove());

/** The host as a new process sees it. */
async function refresh(): Promise<void> {
  host = {
    node: 'worker-1',
    identity: 'test',
    keyring: { known: async () => TEST_KEY.keys, learn: async () => TEST_KEY.keys },
    exclusive: createExclusive(),
    ports: await machine.ports(),
    reboot: async (reason) => void events.push(`reboot (${reason}) ${motd()}`),
  };
}

describe('the start', () => {
  it('settles an unfinished update', async () => {
    // The new deployment does not start: the files must be undone before any program reads them.
    await (await machine.ports()).os.discard();
    await machine.boot();
    await refresh();
    expect(motd()).toBe('new');

    const onSettled = () => void events.push(`settled ${motd()}`);

    expect(await settleHost({ ...host, onSettled }, log)).toMatch(/start again/);
    expect(motd()).toBe('old');
    expect(events).toEqual([]);

    await machine.boot();
    await refresh();
    expect(await settleHost({ ...host, onSettled }, log)).toBeUndefined();
    expect(events).toEqual(['settled old']);
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'unfinished update settled' }));
  });

  it('is not settled with a journal that cannot be read', async () => {
    const [name = ''] = await host.ports.files.list('/var/lib/slipway/journal');
    const file = join(machine.root, 'var/lib/slipway/journal', name, 'log');
    writeFileSync(file, readFileSync(file, 'utf8').replace('worker-new', 'worker-odd'));
    host = { ...host, onSettled: () => void events.push('settled') };

    expect(await settleHost(host, log)).toBeUndefined();

    expect(events).toEqual([]);
  });

  it('is settled later, when it could not be at first, and says why once', async () => {
    const { os } = host.ports;
    let left = 3;
    const status = async () => {
      left -= 1;
      if (left >= 0) throw fail('OsCommandFailed', 'the daemon starts again');
      return os.status();
    };
    const stop = new AbortController();
    const due = await new Promise<string>((resolve) => {
      const again = settlingAgain((said) => settleHost(unsettled, log, said), resolve, {
        signal: stop.signal,
        pauseMs: 1,
      });
      const unsettled: ServedHost = {
        ...host,
        ports: { ...host.ports, os: { ...os, status } },
        onUnsettled: (reason) => again.failed(reason),
      };
      void settleHost(unsettled, log);
    });

    expect(due).toBe('update to rendered-worker-new');
    expect(lines.filter(({ msg }) => msg === 'unfinished update cannot be settled')).toEqual([
      expect.objectContaining({ reason: 'the daemon starts again' }),
    ]);
  });

  it('checks the end of an order whether it can be settled, and then no more', async () => {
    const tries: string[] = [];
    const stop = new AbortController();
    const again = settlingAgain(
      async (said) => {
        tries.push(said);
        if (tries.length === 1) again.failed('still in the way');
        else again.holds();
        return undefined;
      },
      () => expect('a reboot').toBe('none'),
      { signal: stop.signal, pauseMs: 100_000_000 },
    );
    again.look();
    expect(tries).toEqual([]);
    again.failed('a path is in the way');
    for (const count of [1, 2, 2]) {
      again.look();
      // After all promises.
      await new Promise((resolve) => setImmediate(resolve));
      expect(tries).toHaveLength(count);
    }
    stop.abort();
    expect(tries).toEqual(['a path is in the way', 'still in the way']);
  });

  it('closes the copies that MCO left open to everybody', async () => {
    const copies = join(machine.root, 'etc/machine-config-daemon/orig');
    mkdirSync(copies, { recursive: true });
    chmodSync(copies, 0o755);

    await settleHost(host, log);

    expect(statSync(copies).mode & 0o777).toBe(0o700);
  });

  it('knows of a reboot that is due', async () => {
    expect(await settleHost(host, log)).toBe('update to rendered-worker-new');
  });
});

describe('systemd', () => {
  let directory: string;
  let command: string;
  let told: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'slipway-notify-'));
    command = join(directory, 'systemd-notify');
    told = join(directory, 'told');
    writeFileSync(command, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> ${told}\n`);
    chmodSync(command, 0o755);
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('is told that the service is ready and how it is, if it asks to be told', async () => {
    const environment = { PATH: process.env['PATH'], NOTIFY_SOCKET: '/run/notify' };
    await createNotifier({ ...environment, NOTIFY_SOCKET: '' }, log, command).ready('nobody');

    const notifier = createNotifier(environment, log, command);
    await notifier.ready('waiting');
    await notifier.status('serving');
    notifier.close();

    const pid = `--pid=${process.pid}`;
    expect(readFileSync(told, 'utf8')).toBe(
      `/run/notify --ready --status=waiting ${pid}\n/run/notify --status=serving ${pid}\n`,
    );
    await createNotifier(environment, log, join(directory, 'missing')).ready('nobody');
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'systemd cannot be notified of the state of this service' }),
    );
  });

  it('gets signs of life twice as often as it wants one, if it waits for this process', () => {
    expect(watchdogMs({ WATCHDOG_USEC: '240000000' })).toBe(120_000);
    expect(watchdogMs({ WATCHDOG_USEC: '240000000', WATCHDOG_PID: `${process.pid}` })).toBe(
      120_000,
    );
    expect(watchdogMs({ WATCHDOG_USEC: '240000000', WATCHDOG_PID: '1' })).toBeUndefined();
    expect(watchdogMs({})).toBeUndefined();
  });
});

describe('the confirmation of an update', () => {
  const secondsGiven = () => lines.find(({ seconds }) => seconds !== undefined)?.['seconds'];

  it.each([
    [100, 500],
    [599, 30],
    [3_600, 30],
  ])('counts from the boot: %i s after it, %i s are left of 600', async (up, left) => {
    await machine.boot();
    await refresh();

    const { deadline } = await confirmAfterReboot(host, log, () => up);

    expect(deadline.aborted).toBe(false);
    expect(secondsGiven()).toBe(left);
  });

  it('is over when its time is, and not before', async () => {
    await machine.boot();
    await refresh();
    jest.useFakeTimers();
    try {
      const { deadline } = await confirmAfterReboot(host, log, () => 100);

      await jest.advanceTimersByTimeAsync(499_999 + LAST_MS);
      expect(deadline.aborted).toBe(false);
      await jest.advanceTimersByTimeAsync(1);
      expect(deadline.aborted).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  it('counts from the first process of the system: a container is younger than its kernel', () => {
    const directory = mkdtempSync(join(tmpdir(), 'slipway-proc-'));
    mkdirSync(join(directory, '1'));
    const started = Math.round((uptime() - 40) * 100);
    writeFileSync(join(directory, '1/stat'), `1 (system) d) S ${'0 '.repeat(18)}${started} 0 0\n`);

    const seconds = secondsSinceBoot(directory);
    expect(seconds).toBeGreaterThanOrEqual(39);
    expect(seconds).toBeLessThan(40 + 60);
    expect(secondsSinceBoot(join(directory, 'missing'))).toBeGreaterThan(0);
    rmSync(directory, { recursive: true });
  });

  it('does not end after an answer: the time begins anew', async () => {
    await machine.boot();
    await refresh();
    jest.useFakeTimers();
    try {
      const { deadline, contact } = await confirmAfterReboot(host, log, () => 100);

      await jest.advanceTimersByTimeAsync(499_999);
      contact();
      await jest.advanceTimersByTimeAsync(599_999 + LAST_MS);
      expect(deadline.aborted).toBe(false);
      await jest.advanceTimersByTimeAsync(1);
      expect(deadline.aborted).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  it('does not end because the process was frozen: no answer could arrive meanwhile', async () => {
    await machine.boot();
    await refresh();
    jest.useFakeTimers();
    try {
      const { deadline } = await confirmAfterReboot(host, log, () => 100);

      // Frozen for hours: the next timer is late, and fires before any answer can arrive.
      jest.advanceTimersToNextTimer();
      expect(deadline.aborted).toBe(false);
      await jest.advanceTimersByTimeAsync(600_000 + LAST_MS);
      expect(deadline.aborted).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  it('takes the place of the shell that would roll back, with the first answer', async () => {
    const unconfirmed = join(machine.root, 'var/lib/slipway/unconfirmed');
    writeFileSync(unconfirmed, '600\nearlier\n');
    await machine.boot();
    await refresh();
    const { contact } = await confirmAfterReboot(host, log, () => 0);
    expect(existsSync(unconfirmed)).toBe(true);

    const removed = new Promise<void>((resolve) => {
      const watcher = watch(join(machine.root, 'var/lib/slipway'), () => {
        if (existsSync(unconfirmed)) return;
        watcher.close();
        resolve();
      });
    });
    contact();
    contact();

    await removed;
    expect(existsSync(unconfirmed)).toBe(false);
  });

  it('ends with the first order that is carried out, for the next process once it is committed', async () => {
    await machine.boot();
    await refresh();
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
    try {
      const { deadline, carriedOut, look } = await confirmAfterReboot(host, log, () => 0);
      carriedOut();
      await look();
      await jest.advanceTimersByTimeAsync(3_600_000);
      expect(deadline.aborted).toBe(false);
    } finally {
      jest.useRealTimers();
    }
    expect((await confirmAfterReboot(host, log, () => 0)).deadline.aborted).toBe(false);

    await (await machine.activities()).verifyUpdate(orderFor(NEW, 'v'));
    await (await machine.activities()).commitUpdate(orderFor(NEW, 'c'));

    expect((await confirmAfterReboot(host, log, () => 0)).isAwaited()).toBe(false);
  });

  it('is no answer to a machine by a name that no order of the update reaches', async () => {
    await machine.boot();
    await refresh();
    Object.assign(host, { node: 'localhost', ports: { ...host.ports, node: 'localhost' } });
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
    try {
      const { deadline, contact, why } = await confirmAfterReboot(host, log, () => 0);
      jest.advanceTimersByTime(600 * 1000);
      contact();
      expect(deadline.aborted).toBe(false);
      jest.advanceTimersByTime(LAST_QUESTION_SECONDS * 1000);
      expect(deadline.aborted).toBe(true);
      expect(why()).toMatch(/name of the machine to localhost, and orders for \S+ do not reach it/);
    } finally {
      jest.useRealTimers();
    }
  });

  describe('once it was verified, and waits for its commit,', () => {
    const proof = () => ({ ...orderFor(NEW, 'v'), commitWithinSeconds: 1_200 });

    /** A process in which that order was carried out. */
    async function verified(first: () => Promise<void> = async () => undefined) {
      await machine.boot();
      await refresh();
      const { bootId } = await host.ports.os.status();
      const kernel = async () => bootId;
      const found = await confirmAfterReboot(host, log, () => 100, kernel);
      await (await machine.activities()).verifyUpdate(proof());
      found.carriedOut();
      await first();
      await found.look();
      return found;
    }

    it('has all of its time again, and with each answer', async () => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
      try {
        const { deadline, contact, isAwaited } = await verified();
        jest.advanceTimersByTime((600 + LAST_QUESTION_SECONDS - 1) * 1000);
        contact();
        jest.advanceTimersByTime((600 + LAST_QUESTION_SECONDS - 1) * 1000);
        expect([deadline.aborted, isAwaited()]).toEqual([false, true]);
        jest.advanceTimersByTime(1000);
        expect(deadline.aborted).toBe(true);
      } finally {
        jest.useRealTimers();
      }
    });

    it('has it also when the program of the operating system does not answer then', async () => {
      const { isAwaited } = await verified(async () => {
        const status = async () => Promise.reject(new Error('busy'));
        Object.assign(host, { ports: { ...host.ports, os: { ...host.ports.os, status } } });
      });

      expect(isAwaited()).toBe(true);
    });

    it('is decided by its commit', async () => {
      const committed = await verified();
      await (await machine.activities()).commitUpdate(orderFor(NEW, 'c'));
      await committed.look();
      expect(committed.isAwaited()).toBe(false);
    });

    it('is decided by an answer after the time in which that was to follow', async () => {
      const { isAwaited, contact, look } = await verified();
      machine.clock.uptime += 1_200;
      contact();
      // Also when an order ends that changed nothing.
      await look();

      expect(isAwaited()).toBe(false);
      // This holds when the next process reaches no server, days later and after another boot.
      await host.exclusive(async () => undefined);
      await machine.boot();
      await refresh();
      expect((await confirmAfterReboot(host, log, () => 0)).isAwaited()).toBe(false);
    });

    it('is decided by no step of the clock: the update may be what set it', async () => {
      const { isAwaited, contact } = await verified();
      const later = machine.clock.now.getTime() + 86_400_000;
      jest.spyOn(Date, 'now').mockReturnValue(later);
      contact();
      jest.restoreAllMocks();

      expect(isAwaited()).toBe(true);
    });

    it('goes on when its journal cannot be read just then', async () => {
      const { isAwaited } = await verified(async () => {
        const journal = {
          ...host.ports.journal,
          open: async () => Promise.reject(new Error('EIO')),
        };
        Object.assign(host, { ports: { ...host.ports, journal } });
      });

      expect(isAwaited()).toBe(true);
    });

    it('says when it begins to be waited for once more', async () => {
      await machine.boot();
      await refresh();
      const found = await confirmAfterReboot(host, log, () => 100);
      let begun = 0;
      found.onAwaited(() => void (begun += 1));
      found.carriedOut();
      await found.look();
      expect([found.isAwaited(), begun]).toEqual([false, 0]);

      await (await machine.activities()).verifyUpdate(proof());
      await found.look();

      expect([found.isAwaited(), begun]).toEqual([true, 1]);
    });

    it('is waited for by a process that starts after the time for it, until the first answer', async () => {
      await verified();
      await machine.boot();
      await refresh();
      jest.spyOn(Date, 'now').mockReturnValue(machine.clock.now.getTime() + 3_600_000);
      const { isAwaited, contact } = await confirmAfterReboot(host, log, () => 0);
      expect(isAwaited()).toBe(true);
      contact();
      jest.restoreAllMocks();

      expect(isAwaited()).toBe(false);
    });

    it('counts from the start of a process in the same boot, not from the boot', async () => {
      await verified();
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
      try {
        const { deadline } = await confirmAfterReboot(host, log, () => 100_000);
        jest.advanceTimersByTime((600 + LAST_QUESTION_SECONDS - 1) * 1000);
        expect(deadline.aborted).toBe(false);
        jest.advanceTimersByTime(1000);
        expect(deadline.aborted).toBe(true);
      } finally {
        jest.useRealTimers();
      }
    });
  });

  it('is not there for a worker in another namespace, also when the operating system does not say how it is', async () => {
    await machine.boot();
    await refresh();
    const os = { ...host.ports.os, status: async () => Promise.reject(new Error('no rpm-ostree')) };
    host = { ...host, ports: { ...host.ports, os, namespace: 'elsewhere' } };
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
    try {
      const boot = async () => 'another boot';
      const { deadline, contact, why } = await confirmAfterReboot(host, log, () => 0, boot);
      jest.advanceTimersByTime(600_000);
      contact();
      jest.advanceTimersByTime(LAST_QUESTION_SECONDS * 1000);
      expect(deadline.aborted).toBe(true);
      expect(why()).toMatch(/Temporal namespace of the host worker to elsewhere/);
    } finally {
      jest.useRealTimers();
    }
  });

  it('is asked for although the program of the operating system does not answer', async () => {
    await machine.boot();
    await refresh();
    const os = { ...host.ports.os, status: async () => Promise.reject(new Error('no rpm-ostree')) };
    host = { ...host, ports: { ...host.ports, os } };

    const kernel = async () => 'another boot';
    const { deadline } = await confirmAfterReboot(host, log, () => 0, kernel);

    expect(deadline.aborted).toBe(false);
    expect(lines).toContainEqual(expect.objectContaining({ reason: 'no rpm-ostree' }));
  });

  it('is not asked for without an update', async () => {
    await (await machine.activities()).goBack(orderFor(NEW, 'goBack'));

    expect((await confirmAfterReboot(host, log, () => 0)).isAwaited()).toBe(false);
  });

  it('puts everything back before it reboots when nobody was reached', async () => {
    await machine.boot();
    await refresh();

    await goBackAndReboot(host, new AbortController().signal, log);

    expect(events).toEqual(['reboot (the update is rolled back) old']);
    await machine.boot();
    const { booted } = await (await machine.ports()).os.status();
    expect(booted.image).toBe('quay.io/os@sha256:1');
  });

  it('leaves an update alone that was committed while the time ended', async () => {
    await machine.boot();
    await refresh();
    const { exclusive } = host;
    const activities = await machine.activities();
    const ordered = exclusive(async () => {
      await activities.verifyUpdate(orderFor(NEW, 'v'));
      await activities.commitUpdate(orderFor(NEW, 'c'));
    });

    await Promise.all([ordered, goBackAndReboot(host, new AbortController().signal, log)]);

    expect(events).toEqual([]);
    expect(motd()).toBe('new');
    expect(lines.at(-1)).toMatchObject({ msg: 'the update was decided meanwhile, it stays' });
  });
});
