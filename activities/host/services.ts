/** Reloads and restarts that a plan asks for, in its order. */

import type { DisruptionAction } from '../../core/disruption';
import type { UpdatePlan } from '../../core/node/plan';
import { type HostPorts, markOf, type OpenJournal } from './ports';

/** What `Special` reloads: CRI-O reads `registries.conf`. */
const REGISTRIES_SERVICE = 'crio.service';

/** Carries the actions out. Repeating a reload or a restart does no harm. */
export async function performActions(
  { systemd, context }: Pick<HostPorts, 'systemd' | 'context'>,
  actions: readonly DisruptionAction[],
): Promise<void> {
  for (const action of actions) {
    const { signal, progress } = context();
    signal.throwIfAborted();
    switch (action.type) {
      case 'Reload':
        progress(`reloading ${action.reload.serviceName}`);
        await systemd.reload(action.reload.serviceName);
        break;
      case 'Restart':
        progress(`restarting ${action.restart.serviceName}`);
        await systemd.restart(action.restart.serviceName);
        break;
      case 'DaemonReload':
        progress('reloading systemd');
        await systemd.daemonReload();
        break;
      case 'Special':
        progress(`reloading ${REGISTRIES_SERVICE}`);
        await systemd.reload(REGISTRIES_SERVICE);
        break;
      case 'None':
      case 'Drain':
      case 'Reboot':
        // Not the business of services: nothing, the cluster's, and `armReboot`.
        break;
    }
  }
}

/**
 * After an undo: systemd reads its units again if there are some in the update, and services that
 * were told of the new files, or may have been, are told of the old ones. May be repeated.
 *
 * @throws `ApplyFailed` naming the service
 */
export async function tellOfOldFiles(
  ports: Pick<HostPorts, 'systemd' | 'context'>,
  journal: OpenJournal,
): Promise<void> {
  const { plan } = journal.header;
  if (changesUnits(plan)) await ports.systemd.daemonReload();
  if (markOf(journal, 'servicesBegun') === undefined) return;
  await performActions(ports, plan.actions);
}

/** Whether systemd keeps something in memory that the update writes. */
export function changesUnits({ units }: Pick<UpdatePlan, 'units'>): boolean {
  return units.changed.length + units.removed.length > 0;
}
