import type { MachineConfigDiff } from '../machine-config/diff';
import { closestFilePolicy } from './policies';
import type { DisruptionAction, DisruptionActionType, DisruptionPolicies } from './types';

interface ChangedParts {
  readonly diff: MachineConfigDiff;
  /** Paths of added, changed and removed files. */
  readonly files: readonly string[];
  /** Names of added, changed and removed units. */
  readonly units: readonly string[];
}

const REBOOT: readonly DisruptionAction[] = [{ type: 'Reboot' }];

/** Whether a section differs that takes effect only at boot, whatever the policies say. */
export function forcesReboot(diff: MachineConfigDiff): boolean {
  return diff.osUpdate || diff.kargs || diff.fips || diff.kernelType || diff.extensions;
}

/**
 * The actions for a change, exactly as in MCO: in the order of the parts, with duplicates. A part
 * without a policy costs a reboot, and a reboot replaces all other actions.
 *
 * @see MCO pkg/daemon/update.go, calculatePostConfigChangeNodeDisruptionAction (7ff337a4)
 */
export function disruptionActions(
  parts: ChangedParts,
  policies: DisruptionPolicies,
): readonly DisruptionAction[] {
  const { diff } = parts;
  if (forcesReboot(diff)) return REBOOT;
  if (!diff.files && !diff.units && !diff.passwd) return [{ type: 'None' }];
  const found = [
    ...parts.files.map((path) => closestFilePolicy(path, policies.files)?.actions ?? REBOOT),
    ...parts.units.map((name) => unitActions(name, policies)),
    // A changed password costs what SSH keys cost.
    ...(diff.passwd ? [policies.sshkey.actions] : []),
  ].flat();
  return reduceActions(found);
}

/** The actions of the policy for a unit; a reboot when it has none. */
function unitActions(name: string, policies: DisruptionPolicies): readonly DisruptionAction[] {
  return policies.units.find((policy) => policy.name === name)?.actions ?? REBOOT;
}

function reduceActions(actions: readonly DisruptionAction[]): readonly DisruptionAction[] {
  if (hasAction(actions, 'Reboot')) return REBOOT;
  if (!hasAction(actions, 'None')) return actions;
  const real = actions.filter((action) => action.type !== 'None');
  return real.length > 0 ? real : [{ type: 'None' }];
}

export function hasAction(
  actions: readonly DisruptionAction[],
  ...types: readonly DisruptionActionType[]
): boolean {
  return actions.some((action) => types.includes(action.type));
}

/**
 * The actions to run on the host, each once: `systemctl daemon-reload`, because restarts must see
 * new units, then restarts, then reloads, unless a restart replaces them. `Special` is a reload of
 * CRI-O; `None` and `Drain` run nothing. MCO runs its list with duplicates, in random order.
 */
export function runnableActions(actions: readonly DisruptionAction[]): readonly DisruptionAction[] {
  if (hasAction(actions, 'Reboot')) return REBOOT;
  const restarts = unique(
    actions.flatMap((a) => (a.type === 'Restart' ? a.restart.serviceName : [])),
  );
  const reloads = unique(actions.flatMap((action) => reloadedService(action)));
  return [
    ...(hasAction(actions, 'DaemonReload') ? ([{ type: 'DaemonReload' }] as const) : []),
    ...restarts.map((serviceName) => ({ type: 'Restart', restart: { serviceName } }) as const),
    ...reloads
      .filter((serviceName) => !restarts.includes(serviceName))
      .map((serviceName) => ({ type: 'Reload', reload: { serviceName } }) as const),
  ];
}

function reloadedService(action: DisruptionAction): readonly string[] {
  if (action.type === 'Special') return ['crio.service'];
  return action.type === 'Reload' ? [action.reload.serviceName] : [];
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}

/** An action for a person: `restart kubelet.service`, `reboot`, `reload crio.service`. */
export function actionText(action: DisruptionAction): string {
  switch (action.type) {
    case 'Reload':
      return `reload ${action.reload.serviceName}`;
    case 'Restart':
      return `restart ${action.restart.serviceName}`;
    case 'DaemonReload':
      return 'reload systemd units';
    case 'Special':
      return 'reload crio.service, drain unless harmless';
    case 'None':
      return 'nothing';
    case 'Drain':
      return 'drain';
    case 'Reboot':
      return 'reboot';
  }
}
