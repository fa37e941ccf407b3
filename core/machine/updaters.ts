import { NodeCondition } from '../names';
import type { MachineConfigNode } from '../node/types';
import type { Condition } from '../object-meta';
import { type MachineTree, runningLink } from './tree';

/** Units that install another OS image and reboot into it. */
const UPDATER_UNITS = [
  'zincati.service',
  'rpm-ostreed-automatic.timer',
  'bootc-fetch-apply-updates.timer',
];
const UNIT_DIRECTORY = '/etc/systemd/system';

/** Reboots nodes on request, from a pod on each of them; named after the container of that pod. */
const KURED = 'kured';
/** The kubelet has a directory per pod here, and in it one per container. */
const POD_LOGS = '/var/log/pods';

/** Paths that change when one of the units is started, stopped, enabled, disabled or masked. */
export const UPDATER_PATHS: readonly string[] = UPDATER_UNITS.flatMap((unit) => [
  runningLink(unit),
  `${UNIT_DIRECTORY}/${unit}`,
  ...['multi-user', 'timers'].map((target) => `${UNIT_DIRECTORY}/${target}.target.wants/${unit}`),
]);

/**
 * Names of active updaters: units that are enabled or run, whatever their own settings, and `kured`
 * where a pod of it is.
 */
export function findUpdaters(tree: MachineTree): readonly string[] {
  const units = UPDATER_UNITS.filter(
    (unit) => tree.unit(unit) === 'enabled' || tree.isRunning(unit),
  );
  const hasKured = tree.list(POD_LOGS).some((pod) => tree.has(`${POD_LOGS}/${pod}/${KURED}`));
  return hasKured ? [...units, KURED] : units;
}

/** A sentence with the fix; `names` come from `findUpdaters`, at least one. */
export function updatersText(names: readonly string[]): string {
  const units = names.filter((name) => name !== KURED);
  const moves = [
    ...(units.length === 0 ? [] : [`systemctl mask --now ${units.join(' ')}`]),
    ...(names.includes(KURED) ? ['take kured off this node'] : []),
  ];
  const would = names.length === 1 ? 'would' : 'would each';
  return `${names.join(', ')} ${would} update or reboot this machine beside Slipway; switch off: ${moves.join('; ')}`;
}

/** The condition for the host's last report; undefined = it named none. */
export function updatersShown(
  known: Pick<MachineConfigNode, 'status'> | undefined,
): Condition | undefined {
  return known?.status?.conditions?.find(({ type }) => type === NodeCondition.FOREIGN_UPDATER);
}

/**
 * The condition of the MachineConfigNode; undefined = nothing was reported.
 *
 * @param previous - the present condition, for its transition time
 * @param now - RFC 3339
 */
export function updatersCondition(
  names: readonly string[] | undefined,
  previous: Condition | undefined,
  now: string,
): Condition | undefined {
  if (names === undefined || names.length === 0) return undefined;
  return {
    type: NodeCondition.FOREIGN_UPDATER,
    status: 'True',
    reason: 'UpdaterEnabled',
    message: updatersText(names),
    lastTransitionTime: previous?.lastTransitionTime ?? now,
  };
}
