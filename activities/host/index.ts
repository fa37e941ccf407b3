/**
 * The effects on one machine. Every activity may be run twice: an order that was carried out answers
 * what it answered, and one that was interrupted goes on from what the journal says.
 */

import type { HostActivities } from '../../workflows/activity-contracts';
import { applyUpdate } from './apply';
import { discardStaged, goBack, verifyBack } from './back';
import { armReboot, commitUpdate, performServiceActions, verifyUpdate } from './finish';
import { once } from './orders';
import type { HostPorts } from './ports';
import { prepareUpdate } from './prepare';

export { currentStep, withHeartbeats } from './current-step';
export { installFirstConfig } from './first-boot';
export type { HostPorts } from './ports';
export { awaitsConfirmation, goBackAlone, settleAtStart } from './start';
export { readCurrentConfig } from './records';

/** The activities of the host behind the ports. They throw errors of the catalogue. */
export function createHostActivities(ports: HostPorts): HostActivities {
  return {
    prepareUpdate: (order) => once(ports, order, () => prepareUpdate(ports, order)),
    applyUpdate: (order) => once(ports, order, () => applyUpdate(ports, order)),
    performServiceActions: (order) => once(ports, order, () => performServiceActions(ports, order)),
    armReboot: (order) => once(ports, order, () => armReboot(ports, order)),
    verifyUpdate: (order) => once(ports, order, () => verifyUpdate(ports, order)),
    commitUpdate: (order) => once(ports, order, () => commitUpdate(ports, order)),
    goBack: (order) => once(ports, order, () => goBack(ports)),
    verifyBack: (order) => once(ports, order, () => verifyBack(ports, order)),
    discardStaged: (order) => once(ports, order, () => discardStaged(ports)),
  } satisfies HostActivities;
}
