import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FileSystem } from '../../../../adapters/host';
import { bundleOfPool, type HostBundle } from '../../../../core/host-bundle';
import { writeBundle } from '../../../../host/bundle/write-bundle';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import { aConfig, aCopyOf, aFile, aHost, orderFor, type TestHost } from '../a-host';
import { type Deaths, dyingAt } from '../dying-process';

const CA = '/etc/kubernetes/kubelet-ca.crt';
const PULL = '/var/lib/kubelet/config.json';
const REGISTRY = '/etc/docker/certs.d/registry:5000/ca.crt';
const CONFIG = aConfig('rendered-worker-1', {
  config: { storage: { files: [aFile('/etc/a', 'a')] } },
});

function bundle(texts: Readonly<Record<string, string>>): HostBundle {
  const files = Object.entries(texts).map(([path, text]) => ({
    ...{ path, mode: 0o600 as const, content: Buffer.from(text).toString('base64') },
  }));
  return bundleOfPool('worker', { files, keeps: [], keepsRegistries: false, problems: [] });
}

const OLD = bundle({ [CA]: 'old', [REGISTRY]: 'old' });
const NEW = bundle({ [CA]: 'new', [PULL]: 'new' });

async function write(host: TestHost, wanted: HostBundle, fs?: FileSystem): Promise<void> {
  const ports = { ...(await host.ports(fs)), kubeletUnit: () => undefined };
  await writeBundle({ ...ports, tryAuthority: async () => undefined }, wanted);
}

const onDisk = (host: TestHost) =>
  [CA, PULL, REGISTRY].map((path) => {
    const file = join(host.root, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  });
const ALL_OLD = ['old', undefined, 'old'];
const ALL_NEW = ['new', 'new', undefined];

export function describeBundleCrashes(deaths: Deaths): void {
  let start: TestHost;

  beforeAll(async () => {
    start = await aHost([CONFIG]);
    const activities = await start.activities();
    await activities.prepareUpdate(orderFor(CONFIG, 'p'));
    await activities.applyUpdate(orderFor(CONFIG, 'a'));
    await activities.verifyUpdate(orderFor(CONFIG, 'v'));
    await activities.commitUpdate(orderFor(CONFIG, 'c'));
    await write(start, OLD);
  });

  afterAll(() => start.remove());

  it('is whole or not there, wherever the process dies, and the next one writes it', async () => {
    const whole = dyingAt(Infinity);
    const counted = await aCopyOf(start);
    await write(counted, NEW, whole.fs);
    expect(onDisk(counted)).toEqual(ALL_NEW);
    counted.remove();
    for (const step of deaths('the write of a bundle', whole.steps())) {
      const host = await aCopyOf(start);
      await expect(write(host, NEW, dyingAt(step).fs)).rejects.toThrow();
      await settleAtStart(await host.ports());

      expect({ step, found: [ALL_OLD, ALL_NEW] }).toEqual({
        step,
        found: expect.arrayContaining([onDisk(host)]) as unknown,
      });
      await write(host, NEW);
      expect(onDisk(host)).toEqual(ALL_NEW);
      host.remove();
    }
  });

  it('writes nothing of a bundle where one path is in the way', async () => {
    const host = await aCopyOf(start);
    mkdirSync(join(host.root, PULL), { recursive: true });
    writeFileSync(join(host.root, dirname(PULL), 'other'), '');

    await expect(write(host, NEW)).rejects.toThrow(`${PULL}: it is a directory`);
    expect(readFileSync(join(host.root, CA), 'utf8')).toBe('old');
    host.remove();
  });
}
