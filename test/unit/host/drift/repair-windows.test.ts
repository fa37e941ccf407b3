/** Repairs that restart services: hosts of one pool take turns, and report that they wait. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createExclusive } from '../../../../host/exclusive';
import { watchDrift } from '../../../../host/drift/watch';
import { createMachineTree, createPathProbe, createPathWatch } from '../../../../adapters/host';
import { type DriftAnswer, type DriftReport, REPAIR_WINDOW } from '../../../../core/drift';
import { mayDisturb } from '../../core/drift/pool-window';
import { aConfig, aCopyOf, aFile, aHost, orderFor, type TestHost } from '../a-host';

/** A change of it restarts the kubelet by the default policies. */
const KUBELETS = '/etc/kubernetes/credential-providers/one.yaml';
const FREE = '/etc/free.conf';
const CONFIG = aConfig('rendered-worker-1', {
  config: {
    storage: { files: [KUBELETS, FREE].map((path) => aFile(path, 'right')) },
  },
});
const REPAIR: DriftAnswer = {
  drift: { mode: 'Repair', limit: 1, intervalSeconds: 3600 },
  disruptionPolicies: { files: [{ path: FREE, actions: [{ type: 'None' }] }] },
  mayDisturb: true,
};
const WAITS = `not repaired yet: ${KUBELETS} waits for this node's turn in its pool to restart kubelet.service`;

let onConfig: TestHost;
beforeAll(async () => {
  onConfig = await aHost([CONFIG]);
  const activities = await onConfig.activities();
  for (const step of ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate'] as const) {
    await activities[step](orderFor(CONFIG, step));
  }
});
afterAll(() => onConfig.remove());

let stop: AbortController;
let running: Promise<void>[];
let hosts: TestHost[];

beforeEach(() => {
  stop = new AbortController();
  [running, hosts] = [[], []];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  for (const host of hosts) host.remove();
});

interface Given {
  readonly drifted?: readonly string[];
  readonly answer: (report: DriftReport) => DriftAnswer;
  readonly restart?: () => void;
  readonly clock?: () => number;
}

/** A host on its config; these files have drifted. */
async function startHost({ drifted = [KUBELETS], answer, restart, clock }: Given) {
  const host = await aCopyOf(onConfig);
  hosts.push(host);
  const exclusive = createExclusive();
  for (const path of drifted) {
    mkdirSync(dirname(join(host.root, path)), { recursive: true });
    writeFileSync(join(host.root, path), 'wrong');
  }
  const base = await host.ports();
  const reports: DriftReport[] = [];
  let heard = (): void => undefined;
  const ports = {
    ...base,
    systemd: {
      ...base.systemd,
      restart: async (service: string) => {
        await base.systemd.restart(service);
        restart?.();
      },
    },
    version: '1.2.3',
    kubeletUnit: () => undefined,
    tree: createMachineTree(host.root),
    probe: createPathProbe(host.root),
    watch: (on: object) => createPathWatch({ root: host.root, ...TOUCHED, ...on }),
    report: async (report: DriftReport) => {
      reports.push(report);
      heard();
      return answer(report);
    },
  };
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined };
  running.push(
    watchDrift(ports, {
      ...{ exclusive, signal: stop.signal, log, random: () => 0.5 },
      timing: { quiet: 1, retry: 1, again: 5 },
      ...(clock === undefined ? {} : { clock }),
    }),
  );
  /** The test's own limit ends the wait. */
  const until = (fits: (all: readonly DriftReport[]) => boolean) =>
    new Promise<void>((resolve) => {
      heard = () => fits(reports) && resolve();
      heard();
    });
  return {
    host,
    reports,
    until,
    /** Fails when it is repaired instead. */
    waits: async () => {
      await until((all) => all.at(-1)?.unrepaired === WAITS || isRepaired(all));
      expect(reports.at(-1)?.unrepaired).toBe(WAITS);
    },
    /** Resolves after that many further reports. */
    more: (count: number) => {
      const before = reports.length;
      return until(({ length }) => length >= before + count);
    },
    text: (path: string) => readFileSync(join(host.root, path), 'utf8'),
  };
}

const TOUCHED = { onTouched: () => undefined, onTrouble: () => undefined };
const isRepaired = (all: readonly DriftReport[]) => all.at(-1)?.count === 0;

it('restarts the kubelets of a pool one after the other, when all of it is to be repaired', async () => {
  const names = ['worker-1', 'worker-2', 'worker-3'];
  const drift = { isDrifted: true, since: -REPAIR_WINDOW.window };
  const members = names.map((name) => ({ name, isInService: true, takesRoom: false, drift }));
  const restarted: string[] = [];
  let now = REPAIR_WINDOW.asked;
  let mode: 'Report' | 'Repair' = 'Report';
  const pool = await Promise.all(
    names.map((node) =>
      startHost({
        answer: () => ({
          drift: { ...REPAIR.drift, mode },
          disruptionPolicies: {},
          mayDisturb: mayDisturb({ node, members, maxUnavailable: 1, now }),
        }),
        restart: () => restarted.push(node),
        clock: () => now,
      }),
    ),
  );
  const all = async (what: (one: (typeof pool)[number]) => Promise<void>) => {
    await Promise.all(pool.map(what));
  };
  await all(({ until }) => until((reports) => reports.some(({ count }) => count === 1)));

  mode = 'Repair';
  await all(({ waits }) => waits());
  expect(restarted).toEqual([]);

  for (const [window, node] of names.entries()) {
    now = window * REPAIR_WINDOW.window;
    await pool[window]?.until(isRepaired);
    await Promise.all(pool.slice(window + 1).map(({ more }) => more(3)));
    expect(restarted).toEqual(names.slice(0, window + 1));
    expect(restarted.at(-1)).toBe(node);
  }
});

it('repairs at once what disturbs no service, and counts no repair that waits', async () => {
  let isTurn = false;
  const { host, reports, until, waits, more, text } = await startHost({
    drifted: [FREE, KUBELETS],
    answer: () => ({ ...REPAIR, mayDisturb: isTurn }),
  });

  await waits();
  await more(3);
  expect(text(FREE)).toBe('right');
  expect(text(KUBELETS)).toBe('wrong');
  expect(reports.at(-1)?.repairs.map(({ path }) => path)).toEqual([FREE]);
  expect(host.serviceActions).toEqual([]);

  isTurn = true;
  await until(isRepaired);
  expect(text(KUBELETS)).toBe('right');
  expect(host.serviceActions).toEqual([{ action: 'restart', service: 'kubelet.service' }]);
});

it('says the same all the time that it waits', async () => {
  const { reports, waits, more } = await startHost({
    answer: () => ({ ...REPAIR, mayDisturb: false }),
  });
  await waits();
  const from = reports.length;

  await more(5);

  expect(new Set(reports.slice(from).map(({ unrepaired }) => unrepaired))).toEqual(
    new Set([WAITS]),
  );
});

it('says no more that it waits when nothing is to be repaired any more', async () => {
  let mode: 'Report' | 'Repair' = 'Repair';
  const { until, waits } = await startHost({
    answer: () => ({ ...REPAIR, drift: { ...REPAIR.drift, mode }, mayDisturb: false }),
  });
  await waits();

  mode = 'Report';

  await until((reports) => reports.at(-1)?.unrepaired === undefined);
});

it('asks again when its turn may be over before it could begin', async () => {
  let now = 0;
  let isTurn = true;
  const { host, reports, waits } = await startHost({
    answer: () => {
      const answer = { ...REPAIR, mayDisturb: isTurn };
      // The answer is late, or an activity delayed it.
      if (isTurn) now += REPAIR_WINDOW.begun + 1;
      isTurn = false;
      return answer;
    },
    clock: () => now,
  });

  await waits();

  expect(host.serviceActions).toEqual([]);
  expect(reports.at(-1)?.repairs).toEqual([]);
});
