/**
 * The effects on one machine. Every activity may be run twice: an order that was carried out answers
 * what it answered, and one that was interrupted goes on from what the journal says.
 */

import type { HostActivities, HostOrder } from '../../workflows/activity-contracts';
import { applyUpdate } from './apply';
import { discardStaged, goBack, verifyBack } from './back';
import { createExclusive, type Exclusive } from './exclusive';
import { armReboot, commitUpdate, performServiceActions, verifyUpdate } from './finish';
import { once } from './orders';
import type { HostPorts } from './ports';
import { prepareUpdate } from './prepare';

export { currentStep, withHeartbeats } from './current-step';
export { createExclusive, type Exclusive } from './exclusive';
export { installFirstConfig } from './first-boot';
export type { HostPorts } from './ports';
export { awaitsConfirmation, confirmReached, goBackAlone, settleAtStart } from './start';
export { readCurrentConfig } from './records';

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
  const inTurn = <Result>(order: HostOrder, carryOut: () => Promise<Result>): Promise<Result> =>
    exclusive(async () => {
      // Cancelled or given up while it waited: nothing was begun, and nothing should be.
      ports.context().signal.throwIfAborted();
      return once(ports, order, carryOut);
    });
  return {
    prepareUpdate: (order) => inTurn(order, () => prepareUpdate(ports, order)),
    applyUpdate: (order) => inTurn(order, () => applyUpdate(ports, order)),
    performServiceActions: (order) => inTurn(order, () => performServiceActions(ports, order)),
    armReboot: (order) => inTurn(order, () => armReboot(ports, order)),
    verifyUpdate: (order) => inTurn(order, () => verifyUpdate(ports, order)),
    commitUpdate: (order) => inTurn(order, () => commitUpdate(ports, order)),
    goBack: (order) => inTurn(order, () => goBack(ports)),
    verifyBack: (order) => inTurn(order, () => verifyBack(ports, order)),
    discardStaged: (order) => inTurn(order, () => discardStaged(ports)),
  } satisfies HostActivities;
}
