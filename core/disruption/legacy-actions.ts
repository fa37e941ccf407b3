/** MCO's fixed rules for the first boot of a machine, which ignore disruption policies. */

import { POLICY_JSON, REGISTRIES_CONF } from '../containers-files';
import type { MachineConfigDiff } from '../machine-config/diff';
import { forcesReboot } from './actions';

/** MCO's spelling. */
type LegacyAction = 'none' | 'reload crio' | 'restart crio' | 'reboot';

const NONE_FILES = ['/etc/kubernetes/kubelet-ca.crt', '/var/lib/kubelet/config.json'];
const NONE_DIRECTORY = '/etc/nmstate/openshift';
const RELOAD_FILES = [
  REGISTRIES_CONF,
  '/etc/machine-config-daemon/no-reboot/containers-gpg.pub',
  POLICY_JSON,
];
const RELOAD_DIRECTORY = '/etc/containers/registries.d';
const RESTART_FILE = '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt';

const WEIGHT: readonly LegacyAction[] = ['none', 'reload crio', 'restart crio', 'reboot'];

/**
 * The heaviest action that any file requires. Any unit change is a reboot; users cost nothing.
 * Directories count for the files directly in them.
 *
 * @param files - paths of added, changed and removed files
 * @see MCO pkg/daemon/update.go, calculatePostConfigChangeAction (7ff337a4)
 */
export function legacyAction(diff: MachineConfigDiff, files: readonly string[]): LegacyAction {
  if (forcesReboot(diff) || diff.units) return 'reboot';
  const weights = files.map((path) => WEIGHT.indexOf(legacyFileAction(path)));
  return WEIGHT[Math.max(0, ...weights)] ?? 'reboot';
}

function legacyFileAction(path: string): LegacyAction {
  const directory = path.slice(0, path.lastIndexOf('/'));
  if (NONE_FILES.includes(path) || directory === NONE_DIRECTORY) return 'none';
  if (RELOAD_FILES.includes(path) || directory === RELOAD_DIRECTORY) return 'reload crio';
  return path === RESTART_FILE ? 'restart crio' : 'reboot';
}
