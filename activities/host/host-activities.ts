/**
 * The effects on one machine. Every activity may be run twice: an order that was carried out answers
 * what it answered, and one that was interrupted goes on from what the journal says.
 */

import type { HostActivities, HostOrder } from '../../workflows/host-contracts';
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

/** Giving these up because of the disk would leave the host half done; what they do continues "cannot …". */
const UNTIL_NOTED: Partial<Record<keyof HostActivities, string>> = {
  commitUpdate: 'commit the update',
  goBack: 'take the update back, or end its commit',
  verifyBack: 'end the way back',
};

/**
 * The activities of the host behind the ports. They throw errors of the catalogue. No two of them run
 * at the same time: an attempt that Temporal has given up may still be writing when the next begins.
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
      // Cancelled or given up while it waited: nothing was begun, and nothing should be.
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

/**
 * Over for good: this update cannot begin again, whoever repeats its orders, or hands over late one that was
 * on its way.
 */
async function overFor<Result>(
  ports: HostPorts,
  order: HostOrder & { readonly failed?: string },
  work: () => Promise<Result>,
): Promise<Result> {
  const note = () => noteBack(ports.files, order, order.failed);
  // First, so that a crash leaves it; but a full disk keeps nothing from being taken back.
  await atBest(ports, 'cannot note that the update is taken back', note);
  const result = await work();
  await atBest(ports, 'cannot note that the update was taken back', note);
  return result;
}
