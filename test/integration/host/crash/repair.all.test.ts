/**
 * A host dies at every operation of a repair of drift, and starts again after a kill or a power cut. At rest all
 * paths are as drifted, or all are as the config says; and the next repair completes the work.
 */

import { findDrift } from '../../../../host/drift/compare';
import { repairDrift } from '../../../../host/drift/repair';
import type { HostPorts } from '../../../../host/ports';
import { mergeDisruptionPolicies } from '../../../../core/disruption';
import type { DriftFinding } from '../../../../core/drift';
import { OLD } from './configs';
import { CrashMachine, type Interference } from './crash-machine';
import {
  type Death,
  deathsIn,
  machineAfter,
  machineOnOld,
  type Moment,
  recorded,
} from './enumerate';
import type { Picture } from './model-disk';
import { withJournal, withoutSync } from './interference';
import { difference, Seen, told } from './judge';

jest.setTimeout(600_000);

const RELOAD = { type: 'Reload', reload: { serviceName: 'stays.service' } } as const;
const POLICIES = mergeDisruptionPolicies({
  files: ['/etc/changed', '/etc/removed', '/etc/grows', '/etc/big'].map((path) => ({
    path,
    actions: [RELOAD],
  })),
  units: ['stays.service', 'goes.service'].map((name) => ({ name, actions: [RELOAD] })),
});
const UNITS = '/etc/systemd/system';
/** Contents, a mode, a missing file and unit, and a disabled unit. */
const FINDINGS: readonly DriftFinding[] = (
  [
    ['/etc/big', 'mode'],
    ['/etc/changed', 'content'],
    ['/etc/grows', 'content'],
    ['/etc/removed', 'missing'],
    [`${UNITS}/goes.service`, 'missing'],
    ['stays.service', 'unit'],
  ] as const
).map(([path, kind]) => ({ path, kind, detail: '', since: '' }));

async function repair(ports: HostPorts): Promise<void> {
  const { reference, spec } = OLD;
  const { unrepaired } = await repairDrift(ports, {
    config: { reference, spec, raw: {} },
    findings: FINDINGS,
    policies: POLICIES,
    mayRepair: () => true,
    mayDisturb: true,
    count: async () => undefined,
  });
  if (unrepaired !== undefined) throw new Error(unrepaired);
}

/** Changes of the config's files, all synced. */
async function drifted(): Promise<Picture> {
  const machine = await machineOnOld();
  const { files, systemd } = await machine.ports();
  const owner = { uid: 0, gid: 0 };
  await systemd.setEnablement([{ unit: 'stays.service', wish: 'disable' }]);
  await files.writeFile('/etc/changed', { content: Buffer.from('theirs'), mode: 0o600, owner });
  await files.writeFile('/etc/grows', { content: Buffer.from('cut'), mode: 0o640, owner });
  const big = await files.look('/etc/big');
  if (big.kind !== 'file') throw new Error('there is no /etc/big');
  await files.writeFile('/etc/big', { ...big, mode: 0o600 });
  await files.remove('/etc/removed');
  await files.remove(`${UNITS}/goes.service`);
  machine.disk.syncAll();
  return machine.disk.picture();
}

interface Repair {
  readonly before: ReturnType<CrashMachine['tree']>;
  readonly after: ReturnType<CrashMachine['tree']>;
  readonly moments: readonly Moment[];
}

async function repairOnce(start: Picture, interference: Interference = {}): Promise<Repair> {
  const machine = new CrashMachine(start, interference);
  const before = machine.tree();
  const details = () => ({ step: 'applyUpdate' as const, rebootedFrom: undefined });
  const moments = await recorded(machine, async () => repair(await machine.ports()), details);
  return { before, after: machine.tree(), moments };
}

/** @returns faults when the machine has started again after this death, in words */
async function broken(
  { before, after }: Repair,
  { picture }: Moment,
  death: Death,
  interference: Interference = {},
): Promise<string | undefined> {
  const machine = await machineAfter(picture, death, interference);
  try {
    await machine.settle();
    const ports = await machine.ports();
    if ((await ports.journal.open()) !== undefined) return 'its journal is still open';
    const tree = machine.tree();
    const notDrifted = difference(before, tree, 'not as it had drifted');
    const notRepaired = difference(after, tree, 'not as the config says');
    if (notDrifted !== undefined && notRepaired !== undefined) {
      return `${notDrifted}; ${notRepaired}`;
    }
    await repair(ports);
    const drift = await findDrift(ports, OLD.spec);
    return drift?.reason ?? difference(after, machine.tree(), 'not repaired the second time');
  } catch (error) {
    return `failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  }
}

/** The first death with a fault, in words; undefined when there is none. */
async function firstBroken(
  run: Repair,
  seen: Seen,
  interference?: Interference,
): Promise<string | undefined> {
  for (const [index, moment] of run.moments.entries()) {
    for (const death of deathsIn(moment)) {
      if (!seen.isNew(moment, death)) continue;
      const what = await broken(run, moment, death, interference);
      if (what !== undefined) return `${told(index, moment, death)}: ${what}`;
    }
  }
  return undefined;
}

it('leaves the drift as it was, or none, whenever the host dies while it is repaired', async () => {
  const run = await repairOnce(await drifted());
  expect(run.after).not.toEqual(run.before);
  const seen = new Seen();

  expect(await firstBroken(run, seen)).toBeUndefined();

  process.stdout.write(`crash points of a repair: ${seen.size}\n`);
  expect(seen.size).toBeGreaterThan(run.moments.length);
});

it.each<[string, Interference, RegExp]>([
  [
    'a repair that writes before it has written down what was there',
    { ports: withJournal((open) => ({ ...open, record: async () => undefined })) },
    /not as it had drifted: \d+ paths differ.*not as the config says/,
  ],
  [
    'a journal whose log is not synced',
    { process: withoutSync((path) => path.endsWith('/log')) },
    /bytes were written, 0 of them are left/,
  ],
])('finds %s', async (_bug, interference, symptom) => {
  const run = await repairOnce(await drifted(), interference);

  expect(await firstBroken(run, new Seen(), interference)).toMatch(symptom);
});
