/** Drift on a real root with real inotify: each test waits for the report that it causes. */

import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createExclusive } from '../../../../host/exclusive';
import { type DriftPorts, watchDrift } from '../../../../host/drift/watch';
import {
  createMachineTree,
  createPathProbe,
  createPathWatch,
  type PathProbe,
} from '../../../../adapters/host';
import type { NodeDisruptionPolicy } from '../../../../core/disruption';
import type { DriftAnswer, DriftReport } from '../../../../core/drift';
import { fail } from '../../../../core/errors';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../a-host';

const unit = {
  name: 'one.service',
  enabled: true,
  contents: '[Service]\nExecStart=/bin/one\n[Install]\nWantedBy=multi-user.target\n',
};
const CONFIG = aConfig('rendered-worker-1', {
  config: {
    storage: { files: [aFile('/etc/one.conf', 'right'), aFile('/etc/two.conf', 'two', 0o600)] },
    systemd: { units: [unit] },
  },
});
const NEXT = aConfig('rendered-worker-2', {
  config: { storage: { files: [aFile('/etc/one.conf', 'next')] } },
});
const REPORT: DriftAnswer = {
  drift: { mode: 'Report', limit: 3, intervalSeconds: 3600 },
  disruptionPolicies: {},
  mayDisturb: true,
};
const POLICIES: NodeDisruptionPolicy = {
  files: [
    {
      path: '/etc/one.conf',
      actions: [{ type: 'Restart', restart: { serviceName: 'one.service' } }],
    },
  ],
  units: [{ name: 'one.service', actions: [{ type: 'DaemonReload' }] }],
};
const REPAIR: DriftAnswer = {
  ...REPORT,
  drift: { ...REPORT.drift, mode: 'Repair' },
  disruptionPolicies: POLICIES,
};

let host: TestHost;
let stop: AbortController;
let reports: DriftReport[];
let hashed: string[];
let answer: DriftAnswer;
let refusals: Error[];
let running: Promise<void>[];
let heard: () => void;
let kubeletUnit: string | undefined;
let exclusive: ReturnType<typeof createExclusive>;

beforeEach(async () => {
  host = await aHost([CONFIG, NEXT]);
  stop = new AbortController();
  [reports, hashed, refusals, running, answer] = [[], [], [], [], REPORT];
  heard = () => undefined;
  kubeletUnit = 'kubelet.service';
  exclusive = createExclusive();
  await updateTo(CONFIG, ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate']);
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  host.remove();
});

const real = (path: string) => join(host.root, path);

async function updateTo(
  config: typeof CONFIG,
  steps: readonly ('prepareUpdate' | 'applyUpdate' | 'verifyUpdate' | 'commitUpdate')[],
): Promise<void> {
  const activities = await host.activities();
  for (const step of steps) {
    const orderId = `update-node/worker-1/to-${config.reference.name}/${step}`;
    const order = orderFor(config, step, { orderId });
    await exclusive(async () => activities[step](order));
  }
}

/** Starts watching; a full check comes only at the start. */
async function start(timing: object = {}, change: (ports: DriftPorts) => DriftPorts = (p) => p) {
  const base = await host.ports();
  const probe = createPathProbe(host.root);
  const counting: PathProbe = {
    ...probe,
    sha256: (path) => {
      hashed.push(path);
      return probe.sha256(path);
    },
  };
  const ports = change({
    ...base,
    probe: counting,
    version: '1.2.3',
    kubeletUnit: () => kubeletUnit,
    tree: createMachineTree(host.root),
    watch: (on) => createPathWatch({ root: host.root, ...on }),
    report: async (report) => {
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      reports.push(report);
      heard();
      return answer;
    },
  });
  const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined };
  const options = { exclusive, signal: stop.signal, log: quiet, random: () => 0.5 };
  running.push(watchDrift(ports, { ...options, timing: { quiet: 1, retry: 1, ...timing } }));
}

/** The next report that fits; the test's own limit ends the wait. */
async function reported(fits: (report: DriftReport) => boolean, cause?: () => void) {
  const from = reports.length;
  const found = new Promise<DriftReport>((resolve) => {
    heard = () => {
      const report = reports.slice(cause === undefined ? 0 : from).find(fits);
      if (report !== undefined) resolve(report);
    };
  });
  cause?.();
  heard();
  return found;
}

const isClean = ({ count }: DriftReport) => count === 0;
const has = (path: string) => (report: DriftReport) =>
  report.findings.some((finding) => finding.path === path);

describe('a host that is watched', () => {
  it('reports what differs and that it does not any more', async () => {
    await start();
    await reported(isClean);

    const drifted = await reported(has('/etc/one.conf'), () =>
      writeFileSync(real('/etc/one.conf'), 'secret'),
    );

    expect(drifted).toEqual({
      version: '1.2.3',
      config: 'rendered-worker-1',
      findings: [
        {
          path: '/etc/one.conf',
          kind: 'content',
          detail: 'content mismatch for file "/etc/one.conf"',
          since: '2030-01-01T00:00:00Z',
        },
      ],
      count: 1,
      repairs: [],
      forced: false,
    });
    await reported(isClean, () => writeFileSync(real('/etc/one.conf'), 'right'));
  });

  it('knows modes, missing files, directories in the way and units', async () => {
    await start();
    await reported(isClean);

    const mode = await reported(has('/etc/two.conf'), () =>
      chmodSync(real('/etc/two.conf'), 0o644),
    );
    expect(mode.findings[0]).toMatchObject({
      kind: 'mode',
      detail: 'mode mismatch for file: "/etc/two.conf"; expected: 0600; received: 0644',
    });
    await reported(
      (report) => report.findings.some(({ kind }) => kind === 'missing'),
      () => rmSync(real('/etc/two.conf')),
    );
    await reported(
      (report) => report.findings.some(({ kind }) => kind === 'type'),
      () => mkdirSync(real('/etc/two.conf')),
    );
    const disabled = await reported(has('one.service'), () =>
      rmSync(real('/etc/systemd/system/multi-user.target.wants/one.service')),
    );
    expect(disabled.findings.at(-1)).toMatchObject({
      kind: 'unit',
      detail: 'unit one.service is disabled, expected enabled',
    });
  });

  it('names a path in printable text, as long as it may be, and whole characters only', async () => {
    const path = '/etc/\u202eone';
    const long = `/${'🚢'.repeat(50)}`.repeat(6);
    const files = [aFile(path, 'right'), aFile(long, 'right')];
    const config = aConfig('rendered-worker-3', { config: { storage: { files } } });
    host.remove();
    host = await aHost([config]);
    await updateTo(config, ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate']);
    await start();
    await reported(isClean);

    const { findings } = await reported(
      ({ count }) => count === 2,
      () => {
        for (const file of files) rmSync(real(file.path));
      },
    );

    expect(findings.map((finding) => finding.path)).toEqual([
      '/etc/?one',
      expect.stringMatching(/^\P{Cs}*🚢…$/u),
    ]);
  });

  it('reads only what was touched', async () => {
    await start();
    await reported(isClean);
    hashed.length = 0;

    await reported(has('/etc/one.conf'), () => writeFileSync(real('/etc/one.conf'), 'wrong'));

    expect(new Set(hashed)).toEqual(new Set(['/etc/one.conf']));
  });

  it('checks everything now and then, and reads nothing that was not written since', async () => {
    // Without events: only the slow check can find drift.
    const deaf = (ports: DriftPorts): DriftPorts => ({
      ...ports,
      watch: () => ({ set: () => undefined, close: () => undefined }),
    });
    await start({ everything: 20 }, deaf);
    await reported(isClean);
    hashed.length = 0;

    await reported(has('/etc/one.conf'), () => writeFileSync(real('/etc/one.conf'), 'wrong'));

    expect(new Set(hashed)).toEqual(new Set(['/etc/one.conf']));
  });

  it('remembers since when over a restart', async () => {
    await start();
    await reported(isClean);
    await reported(has('/etc/one.conf'), () => writeFileSync(real('/etc/one.conf'), 'wrong'));
    stop.abort();
    await Promise.all(running);
    stop = new AbortController();
    host.clock.now = new Date('2030-01-02T00:00:00Z');
    reports.length = 0;

    await start();

    const drifted = await reported(has('/etc/one.conf'));
    expect(drifted.findings[0]?.since).toBe('2030-01-01T00:00:00Z');
  });

  it('is left alone during an update, and compared with the new config after it', async () => {
    await start({ busy: 5 });
    await reported(isClean);

    await updateTo(NEXT, ['prepareUpdate', 'applyUpdate']);
    writeFileSync(real('/etc/one.conf'), 'touched in between');
    const before = reports.length;
    writeFileSync(real('/etc/one.conf'), 'next');
    await updateTo(NEXT, ['verifyUpdate', 'commitUpdate']);

    const after = await reported(has('/etc/one.conf'), () =>
      writeFileSync(real('/etc/one.conf'), 'right'),
    );
    expect(after.config).toBe('rendered-worker-2');
    expect(reports.slice(0, before).every(isClean)).toBe(true);
  });

  it('reports again when it was not heard', async () => {
    refusals = [fail('ConfigFetchFailed', '503'), fail('ConfigForbidden', '403')];
    await start();

    await reported(isClean);

    expect(refusals).toEqual([]);
  });

  it('keeps a node that has just joined waiting for its first report no longer than documented', async () => {
    refusals = [fail('ConfigFetchFailed', 'no certificate yet'), fail('ConfigFetchFailed', '503')];
    await start({ retry: 3_600_000, longestRetry: 3_600_000, longestFirst: 1 });

    await reported(isClean);

    expect(refusals).toEqual([]);
  });

  it.each(['kubelet.service', 'k3s-agent.service', 'my-kubelet.service'])(
    'reports again what is no news when %s starts: its Node may be another one',
    async (unit) => {
      const units = real('/run/systemd/units');
      mkdirSync(units, { recursive: true });
      kubeletUnit = unit;
      await start({ registered: 1 });
      await reported(isClean);

      // As systemd sets it, at each start.
      const started = (invocation: string) => () => {
        symlinkSync(invocation, join(units, '.#new'));
        renameSync(join(units, '.#new'), join(units, `invocation:${unit}`));
      };
      expect(await reported(isClean, started('1'))).toEqual(reports[0]);
      expect(await reported(isClean, started('2'))).toEqual(reports[0]);
    },
  );

  it('tells of another program that would update the machine, and that it is switched off', async () => {
    const unit = real('/usr/lib/systemd/system/zincati.service');
    const runs = real('/run/systemd/units/invocation:zincati.service');
    for (const path of [unit, runs]) mkdirSync(dirname(path), { recursive: true });
    writeFileSync(unit, '[Service]\nExecStart=/usr/libexec/zincati\n');
    await start();
    await reported(isClean);

    const told = await reported(
      ({ updaters }) => updaters !== undefined,
      () => symlinkSync('1f2e', runs),
    );
    const over = await reported(
      ({ updaters }) => updaters === undefined,
      () => rmSync(runs),
    );

    expect(told.updaters).toEqual(['zincati.service']);
    expect(over.count).toBe(0);
  });

  it('tells of the force file', async () => {
    await start();
    await reported(isClean);
    mkdirSync(real('/run'), { recursive: true });

    await reported(
      ({ forced }) => forced,
      () => writeFileSync(real('/run/machine-config-daemon-force'), ''),
    );
  });
});

describe('a host whose pool wants repair', () => {
  const text = () => readFileSync(real('/etc/one.conf'), 'utf8');
  const isRepaired = (report: DriftReport) => report.count === 0 && report.repairs.length > 0;

  it('has the path rewritten, and its services told', async () => {
    answer = REPAIR;
    await start();
    await reported(isClean);

    const repaired = await reported(isRepaired, () =>
      writeFileSync(real('/etc/one.conf'), 'wrong'),
    );

    expect(text()).toBe('right');
    expect(repaired.repairs).toEqual([{ path: '/etc/one.conf', at: '2030-01-01T00:00:00Z' }]);
    expect(host.serviceActions).toContainEqual({ action: 'restart', service: 'one.service' });
    expect(await (await host.ports()).journal.open()).toBeUndefined();
  });

  it('has units enabled again', async () => {
    answer = REPAIR;
    await start();
    await reported(isClean);
    const link = real('/etc/systemd/system/multi-user.target.wants/one.service');

    await reported(isRepaired, () => rmSync(link));

    expect(readlinkSync(link)).toBe('/etc/systemd/system/one.service');
  });

  it('has nothing rewritten that takes effect at a reboot only', async () => {
    answer = REPAIR;
    await start();
    await reported(isClean);

    const left = await reported(
      ({ unrepaired }) => unrepaired !== undefined,
      () => writeFileSync(real('/etc/two.conf'), 'wrong'),
    );

    expect(left).toMatchObject({
      count: 1,
      unrepaired: 'not repaired: /etc/two.conf takes effect at a reboot only',
    });
    expect(readFileSync(real('/etc/two.conf'), 'utf8')).toBe('wrong');
  });

  it('gets the reason why drift stays, for as long as it stays', async () => {
    answer = REPAIR;
    writeFileSync(real('/etc/two.conf'), 'wrong');
    await start({ again: 5 });
    await reported(({ unrepaired }) => unrepaired !== undefined);
    const from = reports.length;

    await reported(() => reports.length > from + 5);
    const said = new Set(reports.slice(from).map(({ unrepaired }) => unrepaired));
    expect([...said]).toEqual(['not repaired: /etc/two.conf takes effect at a reboot only']);

    answer = REPORT;
    await reported(
      ({ unrepaired }) => unrepaired === undefined,
      () => undefined,
    );
  });

  it('has what can be rewritten, and says of the rest why it cannot', async () => {
    answer = REPAIR;
    writeFileSync(real('/etc/one.conf'), 'wrong');
    writeFileSync(real('/etc/two.conf'), 'wrong');

    await start();

    const left = await reported(
      ({ repairs, unrepaired }) => repairs.length === 1 && unrepaired !== undefined,
    );
    expect(left.findings.map(({ path }) => path)).toEqual(['/etc/two.conf']);
    expect(text()).toBe('right');
  });

  it('has a path rewritten so often and then only reported, until the interval is over', async () => {
    answer = { ...REPAIR, drift: { ...REPAIR.drift, limit: 2 } };
    await start({ again: 20 });
    await reported(isClean);
    for (const round of [1, 2]) {
      await reported(
        (report) => report.count === 0 && report.repairs.length === round,
        () => writeFileSync(real('/etc/one.conf'), `wrong ${round}`),
      );
    }

    const given = await reported(
      ({ unrepaired }) => unrepaired !== undefined,
      () => writeFileSync(real('/etc/one.conf'), 'wrong again'),
    );

    expect(given.unrepaired).toBe('not repaired any more: /etc/one.conf drifts again and again');
    expect(text()).toBe('wrong again');
    host.clock.now = new Date('2030-01-01T02:00:00Z');
    await reported(isClean, () => undefined);
    expect(text()).toBe('right');
  });

  it('has a repair counted before it is made: one that ends the process is not made for ever', async () => {
    answer = { ...REPAIR, drift: { ...REPAIR.drift, limit: 1 } };
    const interrupted = new Promise<string>((resolve) => {
      void start({}, (ports) => ({
        ...ports,
        systemd: {
          ...ports.systemd,
          restart: () => {
            resolve(readFileSync(real('/var/lib/slipway/drift.json'), 'utf8'));
            // As if the process ended here, after a repair.
            return new Promise<never>((_, reject) => {
              stop.signal.addEventListener('abort', () => reject(new Error('the process ends')));
            });
          },
        },
      }));
    });
    await reported(isClean);
    writeFileSync(real('/etc/one.conf'), 'wrong');

    const records = JSON.parse(await interrupted) as { repairs: { path: string }[] };

    expect(records.repairs.map(({ path }) => path)).toEqual(['/etc/one.conf']);
  });

  it('has no journal left when its services do not come back on anything', async () => {
    answer = REPAIR;
    await start({}, (ports) => ({
      ...ports,
      systemd: {
        ...ports.systemd,
        restart: async () => {
          throw fail('ApplyFailed', 'systemctl restart one.service: no');
        },
      },
    }));
    await reported(isClean);

    const left = await reported(
      ({ unrepaired }) => unrepaired !== undefined,
      () => writeFileSync(real('/etc/one.conf'), 'wrong'),
    );

    expect(left.unrepaired).toBe('not repaired: systemctl restart one.service: no');
    expect(text()).toBe('wrong');
    expect(await (await host.ports()).journal.open()).toBeUndefined();
  });

  it('has systemd read a unit file again that was rewritten', async () => {
    answer = REPAIR;
    await start();
    await reported(isClean);
    host.serviceActions.length = 0;
    const file = '/etc/systemd/system/one.service';

    await reported(isRepaired, () => writeFileSync(real(file), '[Service]\n'));

    expect(host.serviceActions).toContainEqual({ action: 'daemon-reload' });
  });

  it('is left as it was found when a service does not come back', async () => {
    answer = REPAIR;
    await start({}, (ports) => ({
      ...ports,
      systemd: {
        ...ports.systemd,
        restart: async () => {
          if (text() === 'right') throw fail('ApplyFailed', 'systemctl restart one.service: no');
        },
      },
    }));
    await reported(isClean);

    const left = await reported(
      ({ unrepaired }) => unrepaired !== undefined,
      () => writeFileSync(real('/etc/one.conf'), 'wrong'),
    );

    expect(left.unrepaired).toBe('not repaired: systemctl restart one.service: no');
    expect(text()).toBe('wrong');
    expect(left.repairs).toHaveLength(1);
    expect(await (await host.ports()).journal.open()).toBeUndefined();
  });
});
