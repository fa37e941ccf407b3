import type { UpdatePlan } from '../../../core/node/plan';

/** A plan that drains and reboots, as most updates do. */
export function aPlan(overrides: Partial<UpdatePlan> = {}): UpdatePlan {
  return {
    reconcilable: { ok: true },
    files: { changed: ['/etc/motd'], removed: [] },
    units: { changed: [], removed: [] },
    sshKeysChanged: false,
    passwordChanged: false,
    kernelArguments: { add: ['nosmt'], remove: [] },
    extensions: { install: [], uninstall: [] },
    changes: [],
    actions: [{ type: 'Reboot' }],
    drain: true,
    reboot: true,
    phases: [],
    summary: 'reboot: kernel arguments changed (+nosmt)',
    ...overrides,
  };
}

/** A restart of one service, without drain and reboot. */
export function aRestartPlan(): UpdatePlan {
  return aPlan({
    kernelArguments: { add: [], remove: [] },
    actions: [{ type: 'Restart', restart: { serviceName: 'chronyd.service' } }],
    drain: false,
    reboot: false,
    summary: 'restart chronyd.service: /etc/chrony.conf changed',
  });
}
