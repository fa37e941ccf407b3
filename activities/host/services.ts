/** Reloads and restarts that a plan asks for, in its order. */

import type { DisruptionAction } from '../../core/disruption';
import type { HostPorts } from './ports';

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
