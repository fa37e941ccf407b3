/**
 * The log and the seal of a journal are damaged together, at every stage: nothing shows any more whether something
 * was written under it. A journal that a death cut off while it was begun or dropped looks similar, and is not
 * damaged: the search over all deaths shows that such journals are dropped.
 */

import { JOURNAL_DIRECTORY } from '../../../../adapters/host';
import { CrashMachine } from './crash-machine';
import type { Moment } from './enumerate';
import { type Run, runBack, runOnce, SCENARIOS } from './judge';

jest.setTimeout(600_000);

type Damage = (data: Buffer) => Buffer;

const DAMAGES: Readonly<Record<string, Damage>> = {
  emptied: () => Buffer.alloc(0),
  zeroed: (data) => Buffer.alloc(data.length),
  'cut early': (data) => data.subarray(0, 50),
  scribbled: (data) => Buffer.alloc(data.length, 0xa5),
};
const PAIRS = Object.keys(DAMAGES).flatMap((log) =>
  Object.keys(DAMAGES).map((seal) => ({ log, seal })),
);

function directoryOf({ scenario }: Run): string {
  const order = `update-node_worker-1_${scenario.config.reference.name}_applyUpdate`;
  return `${JOURNAL_DIRECTORY}/${order}`;
}

/** One moment for each state of the two files, after the journal was begun and before it is dropped. */
function stagesOf(run: Run, moments: readonly Moment[]): readonly Moment[] {
  const seen = new Set<string>();
  return moments.filter(({ picture }) => {
    const machine = new CrashMachine(picture);
    const names = machine.memory().filter((name) => name.startsWith('/journal/'));
    if (!names.some((name) => name.endsWith('/log'))) return false;
    const bytes: string[] = [];
    for (const file of ['log', 'seal']) {
      machine.damage(`${directoryOf(run)}/${file}`, (data) => {
        bytes.push(data.subarray(0, file === 'seal' ? 1024 : data.length).toString('latin1'));
        return data;
      });
    }
    const key = [...names, ...bytes].join('\n');
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** The messages of the machine when it starts with this damage, and the outcome. */
async function startedWith(run: Run, { picture }: Moment, pair: (typeof PAIRS)[number]) {
  const machine = new CrashMachine(picture);
  machine.damage(`${directoryOf(run)}/log`, DAMAGES[pair.log] as Damage);
  machine.damage(`${directoryOf(run)}/seal`, DAMAGES[pair.seal] as Damage);
  const state = () => JSON.stringify([machine.tree(), machine.memory()]);
  const before = state();
  const said = await machine.settle().then(
    () => 'nothing',
    (error: unknown) => String(error),
  );
  return { said, isUntouched: state() === before };
}

describe.each(SCENARIOS)('of $name, a journal', (scenario) => {
  let run: Run;
  beforeAll(async () => {
    run = await runOnce(scenario);
  });

  it.each(PAIRS)('is refused when its log is $log and its seal $seal', async (pair) => {
    const stages = stagesOf(run, [...run.moments, ...(await runBack(run, 'verifyUpdate'))]);
    expect(stages.length).toBeGreaterThan(10);
    for (const [stage, moment] of stages.entries()) {
      const { said, isUntouched } = await startedWith(run, moment, pair);
      expect({ stage, isUntouched }).toEqual({ stage, isUntouched: true });
      expect(said).toMatch(
        /^RollbackFailed: read journal \S+\/log: .+; nothing was changed; put the machine on one of/,
      );
    }
  });
});

it('is refused when its log is gone, its seal cannot be read and before-images are left', async () => {
  for (const scenario of SCENARIOS) {
    const run = await runOnce(scenario);
    const applied = run.moments.find(({ step }) => step === 'verifyUpdate');
    if (applied === undefined) throw new Error('nothing is verified');
    const machine = new CrashMachine(applied.picture);
    const { files } = await machine.ports();
    await files.remove(`${directoryOf(run)}/log`);
    machine.damage(`${directoryOf(run)}/seal`, DAMAGES['zeroed'] as Damage);
    const before = machine.memory();

    await expect(machine.settle()).rejects.toThrow(
      /\/log: it is gone, and its seal, \S+\/seal, is damaged or gone; nothing was changed; put/,
    );
    expect(machine.memory()).toEqual(before);
  }
});
