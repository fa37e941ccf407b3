/**
 * A journal that could not be begun, because the disk failed once, is dropped. A host that dies meanwhile has
 * changed nothing, and must not treat the rest as a damaged journal.
 */

import { CrashMachine } from './crash-machine';
import { deathsIn, machineAfter, machineOnOld, type Moment } from './enumerate';

jest.setTimeout(600_000);

const HEADER = { name: 'an update' } as never;

/** Begins a journal on a disk whose operation of this number fails once, and drops it. */
async function abandonedAt(start: Moment['picture'], failing: number) {
  const machine = new CrashMachine(start);
  const { journal } = await machine.ports();
  const moments: Moment[] = [];
  let count = 0;
  machine.disk.onOperation = (operation) => {
    count += 1;
    if (count === failing) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    if (count < failing) return;
    const picture = machine.disk.picture();
    moments.push({ picture, operation, step: 'applyUpdate', rebootedFrom: undefined });
  };
  const hasFailed = await journal.begin('update-node/worker-1', HEADER).then(
    () => false,
    () => true,
  );
  machine.disk.onOperation = () => undefined;
  return { hasFailed, moments };
}

it('is no damaged one, whenever the host dies on the way', async () => {
  const start = (await machineOnOld()).disk.picture();
  let tried = 0;
  for (let failing = 1; ; failing += 1) {
    const { hasFailed, moments } = await abandonedAt(start, failing);
    if (!hasFailed) break;
    for (const moment of moments) {
      for (const death of deathsIn(moment)) {
        const machine = await machineAfter(moment.picture, death);
        const { journal } = await machine.ports();
        // A whole journal has nothing to undo; a damaged one would be refused for ever.
        const refused = await journal.open().then(
          () => undefined,
          (error: unknown) => String(error),
        );
        const at = { failing, operation: moment.operation, death };
        expect({ ...at, refused }).toEqual({ ...at, refused: undefined });
        tried += 1;
      }
    }
  }
  expect(tried).toBeGreaterThan(100);
});
