/**
 * The effects on one machine. Each is safe to run twice: a finished order returns its recorded
 * answer, an interrupted one continues from the journal.
 */

import type { HostActivities, HostOrder } from '../../workflows/contracts/host';
import { applyUpdate } from '../../host/update/apply';
import { armReboot } from '../../host/update/arm-reboot';
import { discardStaged, goBack, verifyBack } from '../../host/update/go-back';
import { prepareUnlessFailed } from '../../host/update/earlier-failure';
import { createExclusive, type Exclusive } from '../../host/exclusive';
import {
  commitUpdate,
  endCommit,
  performServiceActions,
  verifyUpdate,
} from '../../host/update/verify-and-commit';
import { once } from '../../host/records/orders';
import { patientlyWithDisk } from '../../host/retries';
import { atBest, type HostPorts } from '../../host/ports';
import { noteBack } from '../../host/records/accepted-runs';

export { currentStep, withHeartbeats } from './current-step';

/** Giving these up would leave the host between two configs. The text continues "cannot …". */
const UNTIL_NOTED: Partial<Record<keyof HostActivities, string>> = {
  commitUpdate: 'commit the update',
  goBack: 'roll the update back, or end its commit',
  verifyBack: 'end the rollback',
};

/**
 * The activities throw errors of the catalogue. No two run at the same time: an attempt that
 * Temporal has given up may still be writing when the next begins.
 *
 * @param exclusive - one per host, shared by everything that changes it
 */
export function createHostActivities(
  ports: HostPorts,
  exclusive: Exclusive = createExclusive(),
): HostActivities {
  const inTurn = <Result>(
    step: keyof HostActivities,
    order: HostOrder,
    carryOut: () => Promise<Result>,
  ): Promise<Result> =>
    exclusive(async () => {
      // Cancelled while it waited: nothing has begun.
      ports.context().signal.throwIfAborted();
      const work = () => once(ports, step, order, carryOut);
      const what = UNTIL_NOTED[step];
      return what === undefined ? work() : patientlyWithDisk(ports, what, work);
    });
  return {
    prepareUpdate: (order) =>
      inTurn('prepareUpdate', order, () => prepareUnlessFailed(ports, order)),
    applyUpdate: (order) => inTurn('applyUpdate', order, () => applyUpdate(ports, order)),
    performServiceActions: (order) =>
      inTurn('performServiceActions', order, () => performServiceActions(ports, order)),
    armReboot: (order) => inTurn('armReboot', order, () => armReboot(ports, order)),
    verifyUpdate: (order) => inTurn('verifyUpdate', order, () => verifyUpdate(ports, order)),
    commitUpdate: (order) => inTurn('commitUpdate', order, () => commitUpdate(ports, order)),
    goBack: (order) =>
      inTurn('goBack', order, () =>
        order.onlyAsks === true
          ? endCommit(ports, order)
          : overFor(ports, order, () => goBack(ports)),
      ),
    verifyBack: (order) => inTurn('verifyBack', order, () => verifyBack(ports, order)),
    discardStaged: (order) =>
      inTurn('discardStaged', order, () =>
        overFor(ports, order, () => discardStaged(ports, order)),
      ),
  } satisfies HostActivities;
}

/** Ends this update for good: no order can begin it again. */
async function overFor<Result>(
  ports: HostPorts,
  order: HostOrder & { readonly failed?: string },
  work: () => Promise<Result>,
): Promise<Result> {
  const note = () => noteBack(ports.files, order, order.failed);
  // First, so that it survives a crash. A full disk must not prevent the rollback.
  await atBest(ports, 'cannot record the rollback of the update', note);
  const result = await work();
  await atBest(ports, 'cannot record that the update was rolled back', note);
  return result;
}
