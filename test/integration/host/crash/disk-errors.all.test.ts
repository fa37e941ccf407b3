/**
 * A disk fails one operation with an input/output error: each operation of each order of an update and of a
 * rollback in turn. The order fails with the cause and the path, or succeeds. A rollback afterwards restores the
 * old config byte for byte.
 */

import { type Aftermath, afterError, type Order, ordersOf } from './disk-errors';
import { type Run, runOnce, SCENARIOS } from './judge';

jest.setTimeout(600_000);

let counted = 0;
afterAll(() => {
  process.stdout.write(`disk errors: ${counted}\n`);
});

describe.each(SCENARIOS)('$name', (scenario) => {
  let run: Run;
  let orders: readonly Order[];
  beforeAll(async () => {
    run = await runOnce(scenario);
    orders = await ordersOf(run);
  });

  /** After the order to commit there is no rollback any more. */
  async function aftermaths(
    steps: readonly Order['step'][],
    lasting = false,
  ): Promise<readonly Aftermath[]> {
    const found: Aftermath[] = [];
    for (const order of orders.filter(({ step }) => steps.includes(step))) {
      const sequel = order.step === 'commitUpdate' ? 'finish' : 'back';
      for (let at = 1; at <= order.operations; at += 1) {
        found.push(await afterError(run, order, { at, lasting }, sequel));
      }
    }
    counted += found.length;
    return found;
  }

  /** Every failure is a catalogue error that names the cause and the path. */
  function judge(found: readonly Aftermath[], names: readonly string[]): readonly Aftermath[] {
    expect(found.length).toBeGreaterThan(10);
    expect(found.flatMap(({ wrong }) => wrong ?? [])).toEqual([]);
    const told = found.filter(({ failure }) => failure !== undefined);
    const isSaid = ({ message }: Aftermath) => /i\/o error.* '\/|\/.*i\/o error/.test(message);
    expect(told.filter((one) => !isSaid(one))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining([...new Set(told.map(({ failure }) => failure))]));
    return told;
  }

  const ON_THE_WAY = ['ApplyFailed', 'JournalFailed', 'OsCommandFailed'];
  it.each([
    ['before anything is changed', ['prepareUpdate']],
    ['while files are changed', ['applyUpdate']],
    ['on the way to the end', ['armReboot', 'performServiceActions', 'verifyUpdate']],
  ] as const)('is whole when the disk has an error %s', async (_when, steps) => {
    const found = await aftermaths(steps);

    expect(judge(found, ON_THE_WAY).length).toBeGreaterThan(found.length / 2);
  });

  it.each([
    ['while it is committed', 'commitUpdate', []],
    ['on the way back', 'goBack', ['RollbackFailed']],
  ] as const)('goes on when the disk had an error %s', async (_when, step, named) => {
    judge(await aftermaths([step]), named);
  });

  it.each([
    ['while it is committed', 'commitUpdate', ['ApplyFailed', 'JournalFailed']],
    ['on the way back', 'goBack', ['RollbackFailed', 'JournalFailed', 'OsCommandFailed']],
  ] as const)(
    'says so when the disk has failed for good %s, and is whole with a new one',
    async (_when, step, named) => {
      const found = await aftermaths([step], true);

      expect(judge(found, named).map(({ failure }) => failure)).toContain('JournalFailed');
    },
  );
});
