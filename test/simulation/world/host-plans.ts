/** What an update of a simulated machine takes. */

import type { UpdatePlan } from '../../../core/node/plan';
import type { Host } from './host';
import type { Journal, SimulatedConfig } from './journal';

/** @param begun - the update that is taken over: it was planned before it began */
export function planFor(host: Host, target: SimulatedConfig, begun?: Journal): UpdatePlan {
  const reboot = begun?.reboots ?? host.os !== target.os;
  const restart = { type: 'Restart', restart: { serviceName: 'chronyd.service' } } as const;
  const actions = reboot ? [{ type: 'Reboot' } as const] : target.restartsService ? [restart] : [];
  return {
    reconcilable: target.unreconcilable
      ? { ok: false, reason: 'disks changed', field: 'storage.disks' }
      : { ok: true },
    files: { changed: ['/etc/motd'], removed: [] },
    units: { changed: [], removed: [] },
    sshKeysChanged: false,
    passwordChanged: false,
    kernelArguments: { add: [], remove: [] },
    extensions: { install: [], uninstall: [] },
    changes: [],
    actions,
    drain: reboot || target.drain,
    reboot,
    phases: [],
    summary: `${host.current} to ${target.name}`,
  } as UpdatePlan;
}
