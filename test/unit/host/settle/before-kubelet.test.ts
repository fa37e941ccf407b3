/** The program before the kubelet, on a real directory, with the real ports of a machine. */

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { UpdateHeader } from '../../../../host/ports';
import { startWhatWaited } from '../../../../host/kubelet';
import { createMachinePorts } from '../../../../workers/host/machine-ports';
import { journalDestination } from '../../../../process/host/journal-logger';
import { settleBeforeKubelet } from '../../../../host/settle/before-kubelet';
import { createWorkerState } from '../../../../host/status/worker-state';
import { createLogger, type Logger } from '../../../../process/logging';
import { aConfig, orderFor } from '../a-host';

const PLAN = {
  changes: [],
  files: { changed: ['/etc/motd'], removed: [] },
  units: { changed: [], removed: [] },
  actions: [],
  reboot: true,
} as unknown as UpdateHeader['plan'];

describe('settling before the kubelet', () => {
  let root: string;
  let log: Logger;
  let lines: string[];
  let reboots: string[];
  const abort = new AbortController();
  const motd = () => readFileSync(join(root, 'etc/motd'), 'utf8');
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-settle-'));
    mkdirSync(join(root, 'etc'));
    writeFileSync(join(root, 'etc/motd'), 'old');
    lines = [];
    reboots = [];
    const out = { write: (text: string) => lines.push(text) };
    const destination = journalDestination({ JOURNAL_STREAM: '8:1' }, out) ?? new Writable();
    log = createLogger({ process: 'test', level: 'debug', destination });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const settings = () => ({
    node: 'worker-1',
    root,
    driver: 'none' as const,
    kubelet: {},
    orderKeysFile: '/none',
    kubeletHealthSeconds: 0,
    inhibitorSeconds: 0,
    shutdownSeconds: 0,
  });

  function systemctl(state: string): string {
    const file = join(root, 'systemctl');
    const status = state === 'active' ? 0 : 3;
    writeFileSync(file, `#!/bin/sh\necho ${state}\nexit ${status}\n`);
    chmodSync(file, 0o755);
    return file;
  }
  const settle = (workerIs: 'active' | 'activating' | 'inactive') =>
    settleBeforeKubelet(
      {
        ...settings(),
        ports: async () => (await createMachinePorts(settings())).ports,
        reboot: async (reason) => void reboots.push(`${reason}: ${motd()}`),
      },
      { signal: abort.signal, log, systemctl: systemctl(workerIs), pauseMs: 1 },
    );

  /** An update that wrote a file in an earlier boot. */
  async function leaveHalfWritten(): Promise<void> {
    const { ports } = await createMachinePorts(settings());
    const order = orderFor(aConfig('rendered-worker-new'), 'applyUpdate');
    const journal = await ports.journal.begin(order.orderId, {
      orderId: order.orderId,
      node: order.node,
      driver: 'none',
      target: order.config,
      previousDeployment: 'none',
      before: {
        bootId: 'another boot',
        kernelArguments: [],
        extensions: [],
        kernelType: 'default',
      },
      plan: PLAN,
    });
    await journal.record(['/etc/motd']);
    writeFileSync(join(root, 'etc/motd'), 'half of it');
  }

  it('has nothing to do without an update', async () => {
    expect(await settle('inactive')).toEqual({});
    expect(motd()).toBe('old');
  });

  it('puts half-written files back, and says so with its priority', async () => {
    await leaveHalfWritten();

    expect((await settle('inactive')).what).toMatch(/rebooted by itself in the middle/);

    expect(motd()).toBe('old');
    expect(reboots).toEqual([expect.stringMatching(/start again: old$/)]);
    expect(lines.at(-1)).toMatch(/^<4>\{"level":"warn".*unfinished update settled/);
  });

  it.each(['active', 'activating'] as const)('leaves it to a worker that is %s', async (state) => {
    await leaveHalfWritten();

    await expect(settle(state)).rejects.toThrow(/slipway-host.service runs.*stop it first/);
    expect(motd()).toBe('half of it');
  });

  it('leaves it to a worker that runs and has not settled yet', async () => {
    await leaveHalfWritten();
    createWorkerState(root, 'temporal:7233', log).connection('waiting');

    await expect(settle('activating')).rejects.toThrow(/settles by itself; stop it first/);
    expect(motd()).toBe('half of it');
  });

  it('does not believe a worker that is gone that it has settled', async () => {
    await leaveHalfWritten();
    createWorkerState(root, 'temporal:7233', log).settled();
    const file = join(root, 'run/slipway/host.json');
    const state = JSON.parse(readFileSync(file, 'utf8')) as object;
    // Above the kernel's maximum for a process ID.
    writeFileSync(file, JSON.stringify({ ...state, pid: 2 ** 30 }));

    await expect(settle('activating')).rejects.toThrow(/settles by itself; stop it first/);
  });

  it('is done when the worker that runs has settled', async () => {
    await leaveHalfWritten();
    createWorkerState(root, 'temporal:7233', log).settled();

    expect(await settle('active')).toEqual({});
    expect(motd()).toBe('half of it');
    await expect(settle('activating')).resolves.toEqual({});
  });

  it('changes nothing when the journal is damaged, and fails', async () => {
    await leaveHalfWritten();
    const { ports } = await createMachinePorts(settings());
    const [name] = await ports.files.list('/var/lib/slipway/journal');
    const file = join(root, 'var/lib/slipway/journal', name ?? '', 'log');
    writeFileSync(file, readFileSync(file, 'utf8').replace('worker-new', 'worker-odd'));

    await expect(settle('inactive')).rejects.toMatchObject({ name: 'RollbackFailed' });
    expect(motd()).toBe('half of it');
  });

  describe('what waited for it', () => {
    const told = () => readFileSync(join(root, 'told'), 'utf8').trim().split('\n');
    /** A systemctl that records its arguments; each of these verbs ends with this status. */
    function systemctlThat(ends: Readonly<Record<string, number>>): string {
      const file = join(root, 'systemctl');
      const cases = Object.entries(ends).map(([verb, code]) => `  ${verb}) exit ${code};;`);
      const text = ['#!/bin/sh', `echo "$*" >> ${root}/told`, 'case $1 in', ...cases, 'esac', ''];
      writeFileSync(file, text.join('\n'));
      chmodSync(file, 0o755);
      return file;
    }
    const UNIT = 'slipway-host-settle.service';

    it('starts once the worker has settled, if it failed before', async () => {
      await startWhatWaited('kubelet.service', log, systemctlThat({ 'is-failed': 0 }));

      expect(told()).toEqual([
        `is-failed --quiet ${UNIT}`,
        `start ${UNIT}`,
        'is-enabled --quiet kubelet.service',
        'start --no-block kubelet.service',
      ]);
    });

    it('is left alone if it did not fail', async () => {
      await startWhatWaited('kubelet.service', log, systemctlThat({ 'is-failed': 1 }));

      expect(told()).toEqual([`is-failed --quiet ${UNIT}`]);
    });

    it('does not start when it fails again', async () => {
      await startWhatWaited('kubelet.service', log, systemctlThat({ 'is-failed': 0, start: 1 }));

      expect(told()).toEqual([`is-failed --quiet ${UNIT}`, `start ${UNIT}`]);
      expect(lines.at(-1)).toMatch(/kubelet waits/);
    });
  });
});
