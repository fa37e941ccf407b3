/** Conditions that a host must satisfy whenever its process dies in an update. */

import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_FILE_SYSTEM, type FileSystem } from '../../../../adapters/host';
import { treeOf } from '../../adapters/host/trees';
import { aConfig, aFile, aHost, orderFor, type TestConfig, type TestHost } from '../a-host';
import { type Deaths, dyingAt } from '../dying-process';

const unit = (name: string, text: string, more: object = {}) => ({
  name,
  contents: `[Service]\nExecStart=${text}\n[Install]\nWantedBy=multi-user.target\n`,
  enabled: true,
  ...more,
});

/** Between the two is every kind of change of an update. */
const OLD = aConfig('rendered-worker-old', {
  config: {
    storage: {
      files: [
        aFile('/etc/changed', 'before'),
        aFile('/etc/removed', 'gone soon'),
        aFile('/etc/was-there', 'ours'),
        { path: '/etc/grows', append: [{ source: 'data:,old%0A' }] },
        aFile('/etc/big', 'b'.repeat(20_000), 0o4755),
      ],
    },
    systemd: { units: [unit('stays.service', '/bin/a'), unit('goes.service', '/bin/b')] },
    passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 AAAA old'] }] },
  },
});
const NEW = aConfig('rendered-worker-new', {
  kernelArguments: ['nosmt'],
  config: {
    storage: {
      files: [
        aFile('/etc/changed', 'after', 0o600),
        aFile('/srv/new/deep/file', 'new'),
        aFile('/etc/os-release', 'claimed'),
        { path: '/etc/grows', append: [{ source: 'data:,new%0A' }, { source: 'data:,er' }] },
        { path: '/etc/sudoers', append: [{ source: 'data:,more' }] },
        aFile('/etc/big', 'c'.repeat(30_000)),
        aFile('/etc/was-a-link', 'a file'),
        aFile('/opt/behind-a-link', 'new'),
      ],
    },
    systemd: {
      units: [
        unit('stays.service', '/bin/c', { dropins: [{ name: '10-a.conf', contents: '[Unit]\n' }] }),
        { name: 'masked.service', mask: true },
      ],
    },
    passwd: {
      users: [
        { name: 'core', passwordHash: '$6$abc', sshAuthorizedKeys: ['ssh-ed25519 AAAA new'] },
      ],
    },
  },
});

/** Everything below a root, with extended attributes, without Slipway's own state. */
function snapshot(root: string): Readonly<Record<string, string>> {
  const tree = Object.entries(treeOf(root));
  return Object.fromEntries(tree.filter(([name]) => name !== 'var' && name !== 'var/lib'));
}

/** Files of the operating system, on which the configs build. */
function furnish(root: string): void {
  writeFileSync(join(root, 'etc/grows'), 'original\n', { mode: 0o640 });
  writeFileSync(join(root, 'etc/sudoers'), 'root\n', { mode: 0o440 });
  execFileSync('setfattr', ['-n', 'user.label', '-v', 'etc_t', join(root, 'etc/sudoers')]);
  symlinkSync('/nowhere', join(root, 'etc/was-a-link'));
  mkdirSync(join(root, 'var/opt'), { recursive: true });
  symlinkSync('var/opt', join(root, 'opt'));
}

/** With modes, owners and links, which `cpSync` does not keep. */
function copyTree(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}

async function install(host: TestHost, config: TestConfig): Promise<void> {
  const activities = await host.activities();
  const order = (step: string) => ({ ...orderFor(config, step), orderId: `first/${step}` });
  await activities.prepareUpdate(order('prepareUpdate'));
  await activities.applyUpdate(order('applyUpdate'));
  await activities.verifyUpdate(order('verifyUpdate'));
  await activities.commitUpdate(order('commitUpdate'));
}

/** In memory when possible: every crash point copies the tree. */
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export function describeCrashes(deaths: Deaths): void {
  describe('a host that dies in the middle of an update', () => {
    let template: TestHost;
    let before: Readonly<Record<string, string>>;
    let root: string;

    beforeAll(async () => {
      template = await aHost([OLD, NEW]);
      furnish(template.root);
      await install(template, OLD);
      await (await template.activities()).prepareUpdate(orderFor(NEW, 'prepareUpdate'));
      before = snapshot(template.root);
    });
    afterAll(() => template.remove());
    beforeEach(() => {
      root = mkdtempSync(join(SCRATCH, 'slipway-crash-'));
      rmSync(root, { recursive: true });
      copyTree(template.root, root);
    });
    afterEach(() => rmSync(root, { recursive: true, force: true }));

    const fresh = () => {
      rmSync(root, { recursive: true, force: true });
      copyTree(template.root, root);
    };

    /** Number of changing calls of a whole update, and the disk afterwards. */
    async function wholeUpdate() {
      const host = await aHost([OLD, NEW], { root });
      const { fs, steps } = dyingAt(Number.POSITIVE_INFINITY);
      await (await host.activities(fs)).applyUpdate(orderFor(NEW, 'applyUpdate'));
      return { steps: steps(), after: snapshot(root) };
    }

    async function dieAt(step: number): Promise<void> {
      const host = await aHost([OLD, NEW], { root });
      const activities = await host.activities(dyingAt(step).fs);
      await expect(activities.applyUpdate(orderFor(NEW, 'applyUpdate'))).rejects.toThrow();
    }

    it('is byte for byte where it was after going back, whatever call was the last', async () => {
      const { steps, after } = await wholeUpdate();
      expect(after).not.toEqual(before);
      expect(steps).toBeGreaterThan(80);
      for (const step of deaths('an update that is taken back', steps)) {
        fresh();
        await dieAt(step);
        const again = await aHost([OLD, NEW], { root });
        await (await again.activities()).goBack(orderFor(NEW, 'goBack'));
        expect({ step, tree: snapshot(root) }).toEqual({ step, tree: before });
      }
    });

    it('finishes the update when it is told again, whatever call was the last', async () => {
      const { steps, after } = await wholeUpdate();
      for (const step of deaths('an update that is told again', steps)) {
        fresh();
        await dieAt(step);
        const again = await aHost([OLD, NEW], { root });
        await (await again.activities()).applyUpdate(orderFor(NEW, 'applyUpdate'));
        expect({ step, tree: snapshot(root) }).toEqual({ step, tree: after });
      }
    });

    it('goes back also when it dies on the way back, at any call', async () => {
      await wholeUpdate();
      const applied = `${root}-applied`;
      copyTree(root, applied);
      const restart = (): void => {
        rmSync(root, { recursive: true, force: true });
        copyTree(applied, root);
      };
      const goBack = async (fs: FileSystem) => {
        const host = await aHost([OLD, NEW], { root });
        await (await host.activities(fs)).goBack(orderFor(NEW, 'goBack'));
      };
      const counting = dyingAt(Number.POSITIVE_INFINITY);
      await goBack(counting.fs);
      expect(snapshot(root)).toEqual(before);
      for (const step of deaths('the way back of an update', counting.steps())) {
        restart();
        const dying = dyingAt(step);
        // Best-effort steps do not fail; only the death counts.
        await goBack(dying.fs).catch(() => undefined);
        expect(dying.steps()).toBeGreaterThanOrEqual(step);
        await goBack(NODE_FILE_SYSTEM);
        expect({ step, tree: snapshot(root) }).toEqual({ step, tree: before });
      }
      rmSync(applied, { recursive: true, force: true });
    });

    it('settles at the next order: undone for another config', async () => {
      const { steps } = await wholeUpdate();
      fresh();
      await dieAt(Math.floor(steps / 2));
      const again = await aHost([OLD, NEW], { root });

      const prepared = await (
        await again.activities()
      ).prepareUpdate(orderFor(OLD, 'prepareUpdate', { orderId: 'another/prepareUpdate' }));

      expect(prepared.settled).toBe('undid the unfinished update to rendered-worker-new');
      expect(prepared.alreadyOnTarget).toBe(true);
      expect(snapshot(root)).toEqual(before);
    });

    it('changes nothing when the journal is damaged, and says so', async () => {
      await wholeUpdate();
      const journal = join(root, 'var/lib/slipway/journal');
      const log = join(journal, readdirSync(journal)[0] ?? '', 'log');
      const bytes = readFileSync(log);
      bytes[200] = (bytes[200] ?? 0) ^ 1;
      rmSync(log);
      writeFileSync(log, bytes);
      const damaged = snapshot(root);
      const host = await aHost([OLD, NEW], { root });

      await expect((await host.activities()).goBack(orderFor(NEW, 'goBack'))).rejects.toMatchObject(
        {
          name: 'RollbackFailed',
        },
      );
      expect(snapshot(root)).toEqual(damaged);
    });
  });
}
