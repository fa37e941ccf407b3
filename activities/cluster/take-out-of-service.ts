import type { ClusterActivities } from '../../workflows/contracts/cluster';
import { createAwaitGrant } from './await-grant';
import { cordonerOf } from './cordon-node';
import type { ClusterPorts } from './ports';
import { SILENT_MS } from './silent-picture';
import { whileWanted } from './still-wanted';
import { refuseUnwanted } from './unwanted';

/** Waits for the grant of an update and for room, and takes its node out of service at once. Safe to run twice. */
export function createTakeOutOfService(ports: ClusterPorts): ClusterActivities['takeOutOfService'] {
  const awaitGrant = createAwaitGrant(ports);
  const cordon = cordonerOf(ports);
  return async (input) => {
    await awaitGrant(input);
    // A process that stands still now knows neither of the room nor of what another attempt has done.
    const throwIfGivenUp = whileWanted(ports, input, SILENT_MS);
    // Decided on the Node that is written, so that another pool sees both together.
    return cordon(input, throwIfGivenUp, (known) => {
      refuseUnwanted(known, input, ports.view.pools);
    });
  };
}

/** Of a node that was uncordoned in the middle. It counts as out of service all the time, so it needs no room. */
export function createCordonAgain(ports: ClusterPorts): ClusterActivities['cordonAgain'] {
  const cordon = cordonerOf(ports);
  return (input) => cordon(input, whileWanted(ports, input));
}
