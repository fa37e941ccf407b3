import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { planFor } from '../../../../host/update/plan-update';
import { CURRENT_CONFIG_FILE } from '../../../../host/records/configs';
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
  osImageURL: 'quay.io/os@sha256:1',
  config: { storage: { files: [aFile('/etc/motd', 'old'), aFile('/etc/gone.conf', 'gone')] } },
});
const NEW = aConfig('rendered-worker-new', {
  osImageURL: 'quay.io/os@sha256:2',
  kernelArguments: ['nosmt', 'audit=1'],
  extensions: ['usbguard'],
  config: {
    storage: { files: [aFile('/etc/motd', 'new'), aFile('/opt/a/b.conf', 'deep', 0o600)] },
    systemd: {
      units: [
        {
          name: 'hello.service',
          enabled: true,
          contents: '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n',
        },
      ],
    },
    passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 AAAA one'] }] },
  },
});

/** A whole update, with the reboot if the plan has one. */
async function update(host: TestHost, config: TestConfig, run = 'run-1') {
  const activities = await host.activities();
  const order = (step: string) => ({
    ...orderFor(config, step),
    orderId: `update-node/x/${run}/${step}`,
  });
  const prepared = await activities.prepareUpdate(order('prepareUpdate'));
  await activities.applyUpdate(order('applyUpdate'));
  if (prepared.plan.reboot) {
    const { bootId } = await activities.armReboot(order('armReboot'));
    await host.boot();
    const again = await host.activities();
    await again.verifyUpdate({ ...order('verifyUpdate'), rebootedFrom: bootId });
    await again.commitUpdate(order('commitUpdate'));
  } else {
    await activities.performServiceActions(order('performServiceActions'));
    await activities.verifyUpdate(order('verifyUpdate'));
    await activities.commitUpdate(order('commitUpdate'));
  }
  return prepared;
}

describe('the update of a host', () => {
  let host: TestHost;
  const read = (path: string) => readFileSync(join(host.root, path), 'utf8');

  beforeEach(async () => {
    host = await aHost([OLD, NEW]);
    await update(host, OLD, 'run-0');
  });
  afterEach(() => host.remove());

  it('brings files, units, keys and the operating system to the new config', async () => {
    const prepared = await update(host, NEW);

    expect(prepared.plan.reboot).toBe(true);
    expect(read('/etc/motd')).toBe('new');
    expect(read('/opt/a/b.conf')).toBe('deep');
    expect(statSync(join(host.root, '/opt/a/b.conf')).mode & 0o777).toBe(0o600);
    expect(existsSync(join(host.root, '/etc/gone.conf'))).toBe(false);
    expect(
      readlinkSync(join(host.root, '/etc/systemd/system/multi-user.target.wants/hello.service')),
    ).toBe('/etc/systemd/system/hello.service');
    expect(read('/home/core/.ssh/authorized_keys.d/ignition')).toBe('ssh-ed25519 AAAA one\n');
    const { booted } = await (await host.ports()).os.status();
    expect(booted).toMatchObject({
      image: 'quay.io/os@sha256:2',
      kernelArguments: ['nosmt', 'audit=1'],
      extensions: ['usbguard'],
    });
  });

  it('makes the config the current one only when it is committed', async () => {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
    expect(read(CURRENT_CONFIG_FILE)).toContain('"rendered-worker-old"');

    const { bootId } = await activities.armReboot(orderFor(NEW, 'armReboot'));
    await host.boot();
    const again = await host.activities();
    await again.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId });
    expect(read(CURRENT_CONFIG_FILE)).toContain('"rendered-worker-old"');

    await again.commitUpdate(orderFor(NEW, 'commitUpdate'));
    expect(read(CURRENT_CONFIG_FILE)).toContain('"rendered-worker-new"');
    expect(statSync(join(host.root, CURRENT_CONFIG_FILE)).mode & 0o777).toBe(0o600);
    expect(existsSync(join(host.root, '/var/lib/slipway/desired.json'))).toBe(false);
  });

  it('rolls back to the files and the deployment it had', async () => {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
    const armed = await activities.armReboot(orderFor(NEW, 'armReboot'));
    await host.boot({ broken: true });
    const again = await host.activities();
    await expect(
      again.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: armed.bootId }),
    ).rejects.toMatchObject({ name: 'WrongDeployment' });

    const back = await again.goBack(orderFor(NEW, 'goBack'));
    expect(back.rebooting).toBe(true);
    await host.boot();
    const last = await host.activities();
    await last.verifyBack({ ...orderFor(NEW, 'verifyBack'), rebootedFrom: back.bootId });

    expect(read('/etc/motd')).toBe('old');
    expect(read('/etc/gone.conf')).toBe('gone');
    expect(existsSync(join(host.root, '/opt'))).toBe(false);
    const { booted } = await (await host.ports()).os.status();
    expect(booted.image).toBe('quay.io/os@sha256:1');
  });

  it('boots kernel arguments that only changed their order', async () => {
    const ordered = (name: string, ...kernelArguments: string[]) =>
      aConfig(name, { osImageURL: 'quay.io/os@sha256:1', kernelArguments });
    const [one, two] = [
      ordered('rendered-worker-a', 'a=1', 'b=2'),
      ordered('rendered-worker-b', 'b=2', 'a=1'),
    ];
    const other = await aHost([OLD, one, two], { root: host.root });
    await update(other, one, 'run-1');

    expect((await update(other, two, 'run-2')).plan.reboot).toBe(true);

    const { booted } = await (await other.ports()).os.status();
    expect(booted.kernelArguments).toEqual(['b=2', 'a=1']);
  });

  it('verifies which kernel arguments were given to the running kernel, as the boot loader spells them', async () => {
    const withArguments = (name: string, kernelArguments: readonly string[]) =>
      aConfig(name, { osImageURL: OLD.spec.osImageURL, kernelArguments });
    const from = withArguments('rendered-worker-from', ['nosmt="a b"', 'audit="1"', 'quiet']);
    const to = withArguments('rendered-worker-to', ['quiet', 'c="all" d="e f"']);
    const given = ['quiet', 'c=all', '"d=e f"'];
    const other = await aHost([from, to]);
    try {
      await bootInto(other, from);
      const steps = await other.activities();
      await steps.prepareUpdate(orderFor(to, 'prepareUpdate'));
      await steps.applyUpdate(orderFor(to, 'applyUpdate'));
      const { bootId: rebootedFrom } = await steps.armReboot(orderFor(to, 'armReboot'));
      await other.boot();
      const verifying = { ...orderFor(to, 'verifyUpdate'), rebootedFrom };
      const verifyWith = async (words: readonly string[], entry: readonly string[] = []) => {
        const ports = await other.ports();
        const status = async () => {
          const seen = await ports.os.status();
          const kernelArguments = [...entry, ...seen.booted.kernelArguments];
          return { ...seen, booted: { ...seen.booted, kernelArguments } };
        };
        const vitals = { commandLine: async () => words, kubeletHealthy: async () => undefined };
        const activities = createHostActivities({ ...ports, vitals, os: { ...ports.os, status } });
        return activities.verifyUpdate(verifying);
      };

      await expect(verifyWith(['root=/dev/sda', '"nosmt=a b"', ...given])).rejects.toMatchObject({
        name: 'VerifyFailed',
        message: 'the running kernel was still given: [nosmt=…]',
      });
      // The image brings an argument of its own.
      await verifyWith(['root=/dev/sda', 'audit=1', ...given], ['audit=1']);
    } finally {
      other.remove();
    }
  });

  it('enables a unit that somebody linked, keeps its link, and takes both back', async () => {
    const unit = (more: object) => ({ systemd: { units: [{ name: 'l.service', ...more }] } });
    const dropins = [{ name: 'x.conf', contents: '[Install]\nWantedBy=b.target\n' }];
    const configs = [
      aConfig('rendered-worker-off', {}),
      aConfig('rendered-worker-on', { config: unit({ enabled: true }) }),
      aConfig('rendered-worker-more', { config: unit({ enabled: true, dropins }) }),
      aConfig('rendered-worker-not', { config: unit({ enabled: false }) }),
    ] as const;
    const other = await aHost(configs);
    const at = (path: string) => join(other.root, 'etc/systemd/system', path);
    const links = () =>
      ['l.service', 'a.target.wants/l.service', 'b.target.wants/l.service'].filter((path) =>
        lstatSync(at(path), { throwIfNoEntry: false })?.isSymbolicLink(),
      );
    let serial = 0;
    const bring = async (config: TestConfig, step: 'commitUpdate' | 'goBack') => {
      const order = (name: string) =>
        orderFor(config, name, { orderId: `update-node/worker-1/${serial}/${name}` });
      serial += 1;
      const activities = await other.activities();
      await activities.prepareUpdate(order('prepareUpdate'));
      await activities.applyUpdate(order('applyUpdate'));
      const applied = links();
      if (step === 'commitUpdate') await activities.verifyUpdate(order('verifyUpdate'));
      await activities[step](order(step));
      if (step === 'goBack') await activities.verifyBack(order('verifyBack'));
      return applied;
    };
    try {
      await bring(configs[0], 'commitUpdate');
      mkdirSync(join(other.root, 'opt'), { recursive: true });
      mkdirSync(at('.'), { recursive: true });
      writeFileSync(join(other.root, 'opt/l.service'), '[Install]\nWantedBy=a.target\n');
      symlinkSync('/opt/l.service', at('l.service'));

      const enabled = ['l.service', 'a.target.wants/l.service'];
      expect(await bring(configs[1], 'goBack')).toEqual(enabled);
      expect(links()).toEqual(['l.service']);
      expect(await bring(configs[1], 'commitUpdate')).toEqual(enabled);
      expect(await bring(configs[2], 'goBack')).toEqual([...enabled, 'b.target.wants/l.service']);
      expect(links()).toEqual(enabled);
      expect(await bring(configs[3], 'goBack')).toEqual([]);
      expect(links()).toEqual(enabled);
    } finally {
      other.remove();
    }
  });

  it('refuses reordered kernel arguments where the operating system is not managed', async () => {
    const from = aConfig('rendered-worker-a', { kernelArguments: ['a=1', 'b=2'] });
    const to = aConfig('rendered-worker-b', { kernelArguments: ['b=2', 'a=1'] });
    const status = {
      bootId: '1',
      booted: {
        id: 'none',
        kernelArguments: ['a=1', 'b=2'],
        extensions: [],
        kernelType: 'default',
      },
    };
    const { os } = await host.ports();

    expect(() =>
      planFor(
        { os: { ...os, name: 'none', managesOs: false } },
        orderFor(to, 'prepareUpdate'),
        { reference: from.reference, spec: from.spec, raw: from.spec },
        { reference: to.reference, spec: to.spec, raw: to.spec },
        status,
      ),
    ).toThrow(/the config wants: kernel arguments reordered$/);
  });

  it('is not verified in the boot that it is to end, although all of it is on disk', async () => {
    const { osImageURL } = OLD.spec;
    const storage = { files: [aFile('/etc/motd', 'new')] };
    const next = aConfig('rendered-worker-files', { osImageURL, config: { storage } });
    const host = await aHost([OLD, next]);
    await bootInto(host, OLD);
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(next, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(next, 'applyUpdate'));
    const { bootId } = await activities.armReboot(orderFor(next, 'armReboot'));
    const verifying = { ...orderFor(next, 'verifyUpdate'), rebootedFrom: bootId };

    await expect(activities.verifyUpdate(verifying)).rejects.toMatchObject({
      name: 'NotYetRebooted',
    });

    await host.boot();
    const { bootId: after } = await (await host.ports()).os.status();
    expect(after).not.toBe(bootId);
    expect(await (await host.activities()).verifyUpdate(verifying)).toEqual({ bootId: after });
    host.remove();
  });

  it('has nothing to do when it is on the config already', async () => {
    const activities = await host.activities();

    const prepared = await activities.prepareUpdate(orderFor(OLD, 'prepareUpdate'));

    expect(prepared.alreadyOnTarget).toBe(true);
    expect(prepared.currentConfig).toBe('rendered-worker-old');
  });
});
