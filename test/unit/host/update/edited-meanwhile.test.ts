/** A person edits managed files during an update: which edits stay, and what the update must undo. */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { aConfig, aFile, aHost, bootInto, orderFor, type TestHost } from '../a-host';
import { anOstreeHost, type OstreeHost } from '../an-ostree-host';

const unit = {
  name: 'one.service',
  enabled: true,
  contents: '[Service]\nExecStart=/bin/one\n[Install]\nWantedBy=multi-user.target\n',
};
/** `/etc/motd` changes and `/etc/new` comes; `/etc/other` and the unit are the same in both. */
function configOf(name: string, motd: string, more: readonly string[] = []) {
  const files = [aFile('/etc/motd', motd), aFile('/etc/other', 'as it is')];
  return aConfig(`rendered-worker-${name}`, {
    osImageURL: 'quay.io/os@sha256:1',
    config: {
      storage: { files: [...files, ...more.map((path) => aFile(path, name))] },
      systemd: { units: [unit] },
    },
  });
}
const OLD = configOf('old', 'old');
const NEW = configOf('new', 'new', ['/etc/new']);
const LINK = '/etc/systemd/system/multi-user.target.wants/one.service';

let host: TestHost;
const warnings: string[] = [];

const real = (path: string) => join(host.root, path);
const read = (path: string) => readFileSync(real(path), 'utf8');
const edit = (path: string) => writeFileSync(real(path), 'edited');
const order = (step: string, run = 'run-1') =>
  orderFor(NEW, step, { orderId: `update-node/worker-1/${run}/${step}` });
const journal = async () => (await host.ports()).journal.open();

/** A process with its log. */
async function activities(of: Pick<TestHost, 'ports'> = host) {
  const ports = await of.ports();
  return createHostActivities({ ...ports, warn: (sentence) => void warnings.push(sentence) });
}

async function apply(): Promise<void> {
  await (await activities()).prepareUpdate(order('prepareUpdate'));
  await (await activities()).applyUpdate(order('applyUpdate'));
}

async function goBack() {
  const back = await (await activities()).goBack(order('goBack'));
  return { ...back, verify: async () => (await activities()).verifyBack(order('verifyBack')) };
}

beforeEach(async () => {
  host = await aHost([OLD, NEW]);
  await bootInto(host, OLD);
  warnings.length = 0;
});
afterEach(() => host.remove());

describe('between the preparation and the change', () => {
  it.each(['/etc/other', '/etc/motd'])(
    'an edit of %s has the update refused with nothing changed, and the host is back',
    async (path) => {
      await (await activities()).prepareUpdate(order('prepareUpdate'));
      edit(path);

      await expect((await activities()).applyUpdate(order('applyUpdate'))).rejects.toMatchObject({
        name: 'ConfigDrift',
        message: `unexpected on-disk state validating against rendered-worker-old: content mismatch for file "${path}"`,
      });
      expect(await journal()).toBeUndefined();
      expect(existsSync(real('/etc/new'))).toBe(false);
      expect(read(path)).toBe('edited');

      const back = await goBack();
      expect(back.rebooting).toBe(false);
      await expect(back.verify()).resolves.toEqual({ bootId: back.bootId });
      expect(read(path)).toBe('edited');
      expect(warnings).toEqual([
        'worker-1 is rolled back; differences from rendered-worker-old that are not of the update: ' +
          `content mismatch for file "${path}"`,
      ]);
    },
  );

  it('is tried again once the file is as it was', async () => {
    await (await activities()).prepareUpdate(order('prepareUpdate'));
    edit('/etc/other');
    await expect((await activities()).applyUpdate(order('applyUpdate'))).rejects.toThrow();
    await (await goBack()).verify();

    writeFileSync(real('/etc/other'), 'as it is');
    await (await activities()).prepareUpdate(order('prepareUpdate', 'run-2'));
    await (await activities()).applyUpdate(order('applyUpdate', 'run-2'));

    expect(read('/etc/motd')).toBe('new');
  });
});

describe('an update that was applied and is rolled back', () => {
  it('is back when somebody edited what it did not change, whose edit stays', async () => {
    await apply();
    edit('/etc/other');

    const back = await goBack();
    expect(read('/etc/motd')).toBe('old');
    expect(existsSync(real('/etc/new'))).toBe(false);
    await back.verify();

    expect(read('/etc/other')).toBe('edited');
    expect(await journal()).toBeUndefined();
    expect(warnings.join()).toContain('content mismatch for file "/etc/other"');
  });

  it('is back when somebody disabled a unit that it did not change', async () => {
    await apply();
    rmSync(real(LINK));

    await (await goBack()).verify();

    expect(existsSync(real(LINK))).toBe(false);
    expect(warnings.join()).toContain('unit one.service is disabled, expected enabled');
  });

  it('puts back what it changed, whoever edited that after it', async () => {
    await apply();
    edit('/etc/motd');
    edit('/etc/new');

    const back = await goBack();
    await back.verify();

    expect(read('/etc/motd')).toBe('old');
    expect(existsSync(real('/etc/new'))).toBe(false);
    expect(warnings).toEqual([]);
  });

  it('is not back when what it changed is neither as before nor as the config says', async () => {
    await apply();
    const back = await goBack();
    edit('/etc/motd');

    await expect(back.verify()).rejects.toMatchObject({
      name: 'VerifyFailed',
      message: 'content mismatch for file "/etc/motd"',
    });
    expect(await journal()).toBeDefined();
  });

  it.each(['/etc/motd', '/etc/new'])('is not back while %s is not put back', async (path) => {
    await apply();
    const open = await journal();
    await open?.mark({ kind: 'goingBack' });
    await open?.undo();
    // As a process leaves it that dies in between.
    writeFileSync(real(path), 'new');

    const verified = (await activities()).verifyBack(order('verifyBack'));

    await expect(verified).rejects.toMatchObject({
      name: 'VerifyFailed',
      message: `${path} was not put back`,
    });
    expect(await journal()).toBeDefined();
  });

  it('stays back when it is asked once more, by a process that does not know of it', async () => {
    await apply();
    await (await goBack()).verify();
    edit('/etc/other');

    const again = order('verifyBack-again');
    await expect((await activities()).verifyBack(again)).resolves.toBeDefined();
  });
});

describe('on a host whose /etc belongs to its deployments', () => {
  const NEXT = aConfig('rendered-worker-next', {
    ...NEW.spec,
    osImageURL: 'quay.io/os@sha256:2',
  });
  let ostree: OstreeHost;
  const orderOf = (step: string) => orderFor(NEXT, step);

  beforeEach(async () => {
    ostree = await anOstreeHost(OLD, [NEXT]);
  });
  afterEach(() => ostree.remove());

  const at = (path: string) => join(ostree.root, path);

  async function refusedApply() {
    const steps = await activities(ostree);
    await steps.prepareUpdate(orderOf('prepareUpdate'));
    writeFileSync(at('/etc/other'), 'edited');
    await expect(steps.applyUpdate(orderOf('applyUpdate'))).rejects.toMatchObject({
      name: 'ConfigDrift',
    });
    await steps.goBack(orderOf('goBack'));
    return activities(ostree);
  }

  it('a machine that boots back is back with the edit that was made before its reboot', async () => {
    let steps = await activities(ostree);
    await steps.prepareUpdate(orderOf('prepareUpdate'));
    await steps.applyUpdate(orderOf('applyUpdate'));
    writeFileSync(at('/etc/other'), 'edited');
    await steps.armReboot(orderOf('armReboot'));
    await ostree.reboot();
    await ostree.settle();
    steps = await activities(ostree);
    const { rebooting, bootId } = await steps.goBack(orderOf('goBack'));
    expect(rebooting).toBe(true);
    await ostree.reboot();
    await ostree.settle();

    steps = await activities(ostree);
    await steps.verifyBack({ ...orderOf('verifyBack'), rebootedFrom: bootId });

    expect(readFileSync(at('/etc/motd'), 'utf8')).toBe('old');
    expect(existsSync(at('/etc/new'))).toBe(false);
    expect(readFileSync(at('/etc/other'), 'utf8')).toBe('edited');
    expect((await ostree.status()).booted.image).toBe('quay.io/os@sha256:1');
  });

  it('an operating system that was not as the config says before is none of the update', async () => {
    ostree.changeBooted({ kernelType: 'realtime' });

    const steps = await refusedApply();

    await expect(steps.verifyBack(orderOf('verifyBack'))).resolves.toBeDefined();
  });

  it('a deployment that somebody chose meanwhile is named', async () => {
    await refusedApply();
    await ostree.bootOther('somebody-1', 'quay.io/os@sha256:9');

    const steps = await activities(ostree);
    await expect(steps.verifyBack(orderOf('verifyBack'))).rejects.toMatchObject({
      name: 'WrongDeployment',
      message: expect.stringContaining('booted deployment somebody-1') as string,
    });
  });
});
