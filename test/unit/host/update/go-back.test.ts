/** Faults during rollback, and what prevents a commit of the update afterwards. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { unconfirmedAfterReboot, goBackAlone } from '../../../../host/confirm/unconfirmed';
import { readCurrentConfig } from '../../../../host/records/configs';
import type { HostPorts } from '../../../../host/ports';
import type { HostActivities } from '../../../../workflows/contracts/host';
import { fail } from '../../../../core/errors';
import { aConfig, aFile, aHost, bootInto, orderFor, type TestHost } from '../a-host';
import { motdOf, NEW, OLD } from '../an-os-update';

let host: TestHost;
const motd = () => motdOf(host);

beforeEach(async () => {
  host = await aHost([OLD, NEW]);
  await bootInto(host, OLD);
});
afterEach(() => host.remove());

async function applyNew(): Promise<void> {
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
}

async function rebootIntoNew(): Promise<string> {
  await applyNew();
  const { bootId } = await (await host.activities()).armReboot(orderFor(NEW, 'armReboot'));
  await host.boot();
  return bootId;
}

const verifying = (rebootedFrom: string) => ({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom });

describe('an update that was verified, and whose node is completed only after its commit', () => {
  const commitBy = () => ({ at: new Date(host.clock.now.getTime() + 1_200_000) });
  const question = () => ({ ...orderFor(NEW, 'goBack-asked'), onlyAsks: true as const });
  const committing = () => orderFor(NEW, 'commitUpdate');
  const markedCommitting = async () =>
    (await (await host.ports()).journal.open())?.mark({ kind: 'committing' });

  async function verified(): Promise<HostActivities> {
    const rebootedFrom = await rebootIntoNew();
    const activities = await host.activities();
    await activities.verifyUpdate(verifying(rebootedFrom));
    return activities;
  }

  /** The next update to the same config learns whether an earlier one failed. */
  const prepareAfter = async () =>
    (await host.activities()).prepareUpdate(
      orderFor(NEW, 'p', { orderId: 'update-node/n/run-2/p', afterLost: true }),
    );

  it('must reach a server until then, in later boots counted from their beginning', async () => {
    await verified();
    const reconnectSeconds = 600;
    expect(await unconfirmedAfterReboot(await host.ports())).toEqual({
      commitBy: { ...commitBy(), uptime: 2_200 },
      isVerified: true,
      reconnectSeconds,
    });
    await host.boot();
    expect(await unconfirmedAfterReboot(await host.ports())).toEqual({
      commitBy: commitBy(),
      reconnectSeconds,
    });

    await (await host.activities()).commitUpdate(committing());
    expect(await unconfirmedAfterReboot(await host.ports())).toBeUndefined();
  });

  it('is rolled back without an order when nobody is reached', async () => {
    await verified();

    expect(await goBackAlone(await host.ports(), 'nobody was reached')).toBe(true);

    expect(motd()).toBe('old');
    expect(host.reboots).toContain('the update is rolled back');
  });

  it('stays unchanged when an order only asks, and no order to commit has begun', async () => {
    const activities = await verified();

    const answer = await activities.goBack(question());

    expect(answer).not.toHaveProperty('committed');
    expect(motd()).toBe('new');
    expect(await prepareAfter()).toMatchObject({ alreadyOnTarget: false, unsettled: true });
    await (
      await host.activities()
    ).commitUpdate(orderFor(NEW, 'c', { orderId: 'update-node/n/run-2/c' }));
  });

  it('says that it was committed', async () => {
    const activities = await verified();
    await activities.commitUpdate(committing());

    const answer = { rebooting: false, committed: true };
    expect(await activities.goBack(question())).toMatchObject(answer);
    expect(await prepareAfter()).toMatchObject({ alreadyOnTarget: true });
  });

  it('says so, and is committed, although the program of the operating system fails for a while', async () => {
    await verified();
    const ports = await host.ports();
    let failures = 0;
    const status: HostPorts['os']['status'] = () => {
      failures += 1;
      if (failures % 2 === 1) throw fail('OsCommandFailed', 'rpm-ostree is busy');
      return ports.os.status();
    };
    const pause = async () => undefined;
    const activities = createHostActivities({ ...ports, pause, os: { ...ports.os, status } });

    expect(await activities.goBack(question())).not.toHaveProperty('committed');
    expect(failures).toBe(0);
    await activities.commitUpdate(committing());

    expect(failures).toBeGreaterThan(1);
    expect(await prepareAfter()).toMatchObject({ alreadyOnTarget: true });
  });

  it('is committed to the end, and says so, when a crash came in the middle of that', async () => {
    const activities = await verified();
    await markedCommitting();

    expect(await activities.goBack(question())).toMatchObject({ committed: true });

    expect(motd()).toBe('new');
    expect(await (await host.ports()).journal.open()).toBeUndefined();
    expect((await readCurrentConfig((await host.ports()).files))?.reference).toEqual(NEW.reference);
  });

  it('is not when the machine has begun to roll back after that: it left the deployment', async () => {
    const activities = await verified();
    await markedCommitting();
    await (await (await host.ports()).journal.open())?.mark({ kind: 'goingBack' });

    expect(await activities.goBack(question())).not.toHaveProperty('committed');
    expect(await activities.goBack(orderFor(NEW, 'goBack'))).toMatchObject({ rebooting: true });
    expect(motd()).toBe('old');
  });
});

describe('an update that the machine has begun to take back by itself', () => {
  it('is not committed', async () => {
    await rebootIntoNew();
    await goBackAlone(await host.ports(), 'nobody was reached');
    expect(motd()).toBe('old');

    const commit = (await host.activities()).commitUpdate(orderFor(NEW, 'commitUpdate'));
    await expect(commit).rejects.toMatchObject({
      name: 'RefusedRequest',
      message: expect.stringContaining('nobody was reached') as string,
    });
    expect(await (await host.ports()).journal.open()).toBeDefined();
  });

  it('is gone on with, and boots', async () => {
    const bootId = await rebootIntoNew();
    await (await host.activities()).verifyUpdate(verifying(bootId));
    await (await host.activities()).goBack(orderFor(NEW, 'goBack'));

    expect(await goBackAlone(await host.ports(), 'nobody was reached')).toBe(true);

    expect(motd()).toBe('old');
    expect(host.reboots.at(-1)).toBe('the update is rolled back');
  });
});

describe('a disk without space', () => {
  /** Nothing in `/var/lib/slipway` except the journal can be written. */
  async function withFullDisk(): Promise<HostPorts> {
    const ports = await host.ports();
    const writeFile: typeof ports.files.writeFile = async (path, state) => {
      if (!path.startsWith('/var/lib/slipway/')) return ports.files.writeFile(path, state);
      throw Object.assign(new Error(`${path}: no space left on device`), { code: 'ENOSPC', path });
    };
    return { ...ports, files: { ...ports.files, writeFile } };
  }

  it('does not keep an update from being rolled back, and services from being told', async () => {
    await applyNew();
    expect(motd()).toBe('new');

    const activities = createHostActivities(await withFullDisk());
    const back = await activities.goBack(orderFor(NEW, 'goBack'));
    expect(back.rebooting).toBe(false);
    expect(motd()).toBe('old');
    await activities.verifyBack(orderFor(NEW, 'verifyBack'));
    expect(await (await host.ports()).journal.open()).toBeUndefined();
  });

  it('does not keep answers that are not true any more', async () => {
    await applyNew();
    await createHostActivities(await withFullDisk()).goBack(orderFor(NEW, 'goBack'));

    await (await host.activities()).applyUpdate(orderFor(NEW, 'applyUpdate'));
    expect(motd()).toBe('new');
  });
});

describe('records of a host that are damaged', () => {
  it('are no reason to refuse orders, and their contents are not reported', async () => {
    for (const name of ['runs', 'orders', 'committed']) {
      const path = join(host.root, `var/lib/slipway/${name}.json`);
      writeFileSync(path, '{"secret": s3cret');
    }

    await applyNew();
    expect(motd()).toBe('new');
  });
});

describe('what a person fixes after the rollback', () => {
  it('stays fixed, however often the rollback is repeated', async () => {
    await applyNew();
    await (await host.activities()).goBack(orderFor(NEW, 'goBack'));
    expect(motd()).toBe('old');
    writeFileSync(join(host.root, 'etc/motd'), 'mended');

    const again = orderFor(NEW, 'goBack', { orderId: 'update-node/worker-1/run-1/goBack-again' });
    await (await host.activities()).goBack(again);

    expect(motd()).toBe('mended');
  });
});

describe('an operating system whose programs do not answer', () => {
  async function stumbling(often: Partial<Record<'status' | 'discard' | 'rollback', number>>) {
    const ports = await host.ports();
    const left = { ...often };
    const pauses: number[] = [];
    const said: string[] = [];
    const first = (name: keyof typeof left): void => {
      const count = left[name] ?? 0;
      left[name] = count - 1;
      if (count > 0) throw fail('OsCommandFailed', `${name}: a transaction is in progress`);
    };
    const os: HostPorts['os'] = {
      ...ports.os,
      status: async () => (first('status'), ports.os.status()),
      discard: async () => {
        if ((left.discard ?? 0) > 0) said.push(`discard with ${motd()}`);
        first('discard');
        await ports.os.discard();
      },
      rollback: async (id) => (first('rollback'), ports.os.rollback(id)),
    };
    const pause = async (ms: number) => void pauses.push(ms);
    const warn = (sentence: string) => void said.push(sentence);
    return { ports: { ...ports, os, pause, warn }, pauses, said };
  }

  it('holds up the rollback and does not end it; the files go first', async () => {
    const bootId = await rebootIntoNew();
    const { ports, pauses, said } = await stumbling({ status: 2, discard: 1, rollback: 2 });

    const back = await createHostActivities(ports).goBack(orderFor(NEW, 'goBack'));

    expect(back.rebooting).toBe(true);
    expect(motd()).toBe('old');
    expect(pauses).toHaveLength(5);
    expect(said).toContain('discard with old');
    expect(said).toContainEqual(
      expect.stringMatching(/cannot choose deployment .* yet: .*in progress/),
    );
    await host.boot();
    const after = await stumbling({ status: 1 });
    const verifying = { ...orderFor(NEW, 'verifyBack'), rebootedFrom: bootId };
    await createHostActivities(after.ports).verifyBack(verifying);
  });

  it('keeps no file and no unit from going back when they do not say how it is', async () => {
    await applyNew();
    const { ports } = await stumbling({ status: 1000 });
    const deaf = () => createHostActivities(ports).goBack(orderFor(NEW, 'goBack'));

    const told = {
      name: 'OsCommandFailed',
      message: expect.stringMatching(
        /^files and units are as before rendered-worker-new; .*status: a transaction is in/,
      ) as string,
    };
    await expect(deaf()).rejects.toMatchObject(told);
    expect(motd()).toBe('old');
    await expect(deaf()).rejects.toMatchObject(told);
    expect(await ports.journal.open()).toBeDefined();

    // The update cannot continue; the rollback is completed when these calls succeed.
    const activities = await host.activities();
    await expect(activities.armReboot(orderFor(NEW, 'armReboot'))).rejects.toMatchObject({
      name: 'OrderRefused',
    });
    expect(await activities.goBack(orderFor(NEW, 'goBack'))).toMatchObject({ rebooting: false });
    const status = await (await host.ports()).os.status();
    expect(status.staged).toBeUndefined();
    await activities.verifyBack(orderFor(NEW, 'verifyBack'));
    expect(await ports.journal.open()).toBeUndefined();
  });

  it('still reboots a machine that had rebooted, once they say how it is', async () => {
    await rebootIntoNew();
    const { ports } = await stumbling({ status: 1000 });
    await expect(createHostActivities(ports).goBack(orderFor(NEW, 'goBack'))).rejects.toMatchObject(
      { name: 'OsCommandFailed' },
    );
    expect(motd()).toBe('old');
    expect(host.reboots).toHaveLength(1);

    const back = await (await host.activities()).goBack(orderFor(NEW, 'goBack'));

    expect(back.rebooting).toBe(true);
    await host.boot();
    expect((await (await host.ports()).os.status()).booted.image).toBe('quay.io/os@sha256:1');
    await (await host.activities()).verifyBack(orderFor(NEW, 'verifyBack'));
  });

  it('reboots a machine on the old deployment, too, that had started on the new files', async () => {
    const files = aConfig('rendered-worker-files', {
      osImageURL: 'quay.io/os@sha256:1',
      config: { storage: { files: [aFile('/etc/motd', 'files')] } },
    });
    const other = await aHost([OLD, files]);
    try {
      await bootInto(other, OLD);
      const activities = await other.activities();
      await activities.prepareUpdate(orderFor(files, 'prepareUpdate'));
      await activities.applyUpdate(orderFor(files, 'applyUpdate'));
      await activities.armReboot(orderFor(files, 'armReboot'));
      await other.boot();
      const ports = await other.ports();
      const status = async (): Promise<never> => {
        throw fail('OsCommandFailed', 'status: no daemon');
      };
      const deaf = { ...ports, os: { ...ports.os, status }, pause: async () => undefined };
      const goBack = createHostActivities(deaf).goBack(orderFor(files, 'goBack'));
      await expect(goBack).rejects.toThrow('no daemon');

      const back = await (await other.activities()).goBack(orderFor(files, 'goBack'));

      expect(back.rebooting).toBe(true);
    } finally {
      other.remove();
    }
  });

  it('tells systemd all the same of the units that went back', async () => {
    const unit = { name: 'a.service', contents: '[Service]\nExecStart=/bin/true\n' };
    const units = aConfig('rendered-worker-units', {
      ...OLD.spec,
      config: { systemd: { units: [unit] } },
    });
    const other = await aHost([OLD, units]);
    try {
      await bootInto(other, OLD);
      const activities = await other.activities();
      await activities.prepareUpdate(orderFor(units, 'prepareUpdate'));
      await activities.applyUpdate(orderFor(units, 'applyUpdate'));
      const ports = await other.ports();
      const reloads: string[] = [];
      const systemd = { ...ports.systemd, daemonReload: async () => void reloads.push('reload') };
      const status = async (): Promise<never> => {
        throw fail('OsCommandFailed', 'status: no daemon');
      };
      const os = { ...ports.os, status };
      const deaf = { ...ports, systemd, os, pause: async () => undefined };

      const goBack = createHostActivities(deaf).goBack(orderFor(units, 'goBack'));

      await expect(goBack).rejects.toThrow('no daemon');
      expect(reloads).toEqual(['reload']);
      expect((await ports.files.look('/etc/systemd/system/a.service')).kind).toBe('absent');
    } finally {
      other.remove();
    }
  });

  it('ends it at last, with what they said', async () => {
    await applyNew();
    const { ports } = await stumbling({ discard: 1000 });

    const back = createHostActivities(ports).goBack(orderFor(NEW, 'goBack'));
    await expect(back).rejects.toMatchObject({
      name: 'OsCommandFailed',
      message: expect.stringMatching(
        /^files, units and services are as before rendered-worker-new; .*dropped: .*in progress/,
      ) as string,
    });
    expect(motd()).toBe('old');
  });

  it('reboots out of the update although what is staged and locked cannot be dropped', async () => {
    await rebootIntoNew();
    const { os, context } = await host.ports();
    await os.stage('quay.io/os@sha256:3', context());
    const { ports, said } = await stumbling({ discard: 1000 });

    const back = await createHostActivities(ports).goBack(orderFor(NEW, 'goBack'));

    expect(back.rebooting).toBe(true);
    expect(said).toContainEqual(
      expect.stringMatching(/^the staged deployment could not be dropped: /),
    );
    await host.boot();
    expect((await (await host.ports()).os.status()).booted.image).toBe('quay.io/os@sha256:1');
  });

  it('does not reboot into what can neither be dropped nor is locked', async () => {
    await rebootIntoNew();
    const { os, context } = await host.ports();
    await os.stage('quay.io/os@sha256:3', context());
    await os.finalize();
    const { ports } = await stumbling({ discard: 1000 });
    const before = host.reboots.length;

    const back = createHostActivities(ports).goBack(orderFor(NEW, 'goBack'));

    await expect(back).rejects.toMatchObject({ name: 'OsCommandFailed' });
    expect(motd()).toBe('old');
    expect(host.reboots).toHaveLength(before);
  });

  it.each([
    ['fine', undefined],
    ['failing', 'no daemon-reload'],
  ])('tells services before it drops what is staged, and that is %s', async (_how, trouble) => {
    const unit = { name: 'a.service', contents: '[Service]\nExecStart=/bin/true\n' };
    const units = aConfig('rendered-worker-units', {
      ...OLD.spec,
      config: { systemd: { units: [unit] } },
    });
    const other = await aHost([OLD, units]);
    try {
      await bootInto(other, OLD);
      const activities = await other.activities();
      await activities.prepareUpdate(orderFor(units, 'prepareUpdate'));
      await activities.applyUpdate(orderFor(units, 'applyUpdate'));
      const ports = await other.ports();
      const done: string[] = [];
      const systemd = {
        ...ports.systemd,
        daemonReload: async () => {
          done.push('told');
          if (trouble !== undefined) throw fail('ServiceFailed', trouble);
        },
      };
      const discard = async (): Promise<never> => {
        done.push('discard');
        throw fail('OsCommandFailed', 'discard: no daemon');
      };
      const warn = (sentence: string) => void done.push(sentence);
      const os = { ...ports.os, discard };
      const deaf = { ...ports, systemd, os, warn, pause: async () => undefined };

      const goBack = createHostActivities(deaf).goBack(orderFor(units, 'goBack'));

      await expect(goBack).rejects.toMatchObject({
        name: trouble === undefined ? 'OsCommandFailed' : 'ServiceFailed',
        message: expect.stringContaining(trouble ?? 'discard: no daemon') as string,
      });
      expect(done.slice(0, 2)).toEqual(['told', 'discard']);
      if (trouble !== undefined) expect(done.at(-1)).toMatch(/could not be dropped: discard: no/);
      expect((await ports.files.look('/etc/systemd/system/a.service')).kind).toBe('absent');
    } finally {
      other.remove();
    }
  });
});

describe('a file that somebody made huge', () => {
  it('is seen to differ without being read', async () => {
    const ports = await host.ports();
    const read: string[] = [];
    const look: typeof ports.files.look = async (path) => {
      read.push(path);
      return ports.files.look(path);
    };
    writeFileSync(join(host.root, 'etc/motd'), 'x'.repeat(100_000));

    const files = { ...ports.files, look };
    const prepare = createHostActivities({ ...ports, files }).prepareUpdate(
      orderFor(NEW, 'prepareUpdate'),
    );

    await expect(prepare).rejects.toMatchObject({
      name: 'ConfigDrift',
      message: expect.stringContaining('content mismatch for file "/etc/motd"') as string,
    });
    expect(read).not.toContain('/etc/motd');
  });
});

describe('what a person staged', () => {
  it('is dropped by an update, and the record says so', async () => {
    const { os, context } = await host.ports();
    await os.stage('quay.io/os@sha256:3', context());

    const prepared = await (await host.activities()).prepareUpdate(orderFor(NEW, 'prepareUpdate'));

    expect(prepared.settled).toMatch(/^dropped deployment .* \(quay.io\/os@sha256:3\)/);
  });
});
