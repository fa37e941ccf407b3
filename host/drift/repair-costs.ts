/** The repair of a path costs what the same change in an update does. */

import { REGISTRIES_CONF } from '../../core/containers-files';
import {
  closestFilePolicy,
  decideDrain,
  type DisruptionAction,
  type DisruptionPolicies,
  hasAction,
} from '../../core/disruption';
import type { DriftFinding } from '../../core/drift';
import { failureName, messageOf } from '../../core/errors';
import type { IgnitionConfig } from '../../core/machine-config/types';
import { CONTENT_PORTS } from '../update/plan-update';
import type { HostPorts } from '../ports';
import type { WantedPaths } from '../paths/wanted-paths';

/** For paths that no policy covers. */
const REBOOT: readonly DisruptionAction[] = [{ type: 'Reboot' }];

type RepairCost =
  | { readonly actions: readonly DisruptionAction[] }
  /** Completes "not repaired: `path` …". */
  | { readonly refused: string };

/**
 * Only findings without reboot and drain can be repaired. A path without a disruption policy costs
 * a reboot.
 */
export async function repairCost(
  ports: Pick<HostPorts, 'files'>,
  finding: DriftFinding,
  wanted: WantedPaths,
  config: IgnitionConfig,
  policies: DisruptionPolicies,
): Promise<RepairCost> {
  if (finding.kind === 'os') return { refused: 'the operating system changes with a reboot only' };
  if (finding.kind === 'type') return { refused: 'has something else in its place' };
  if (finding.kind === 'unreadable') return { refused: 'cannot be read' };
  const actions = actionsFor(finding, wanted, policies);
  if (actions === undefined) return { refused: 'has a name too long to be sure of' };
  if (hasAction(actions, 'Reboot')) return { refused: 'takes effect at a reboot only' };
  if (hasAction(actions, 'Drain')) return { refused: 'needs a drain first' };
  if (!hasAction(actions, 'Special')) return { actions };
  const drain = await registriesDrain(ports, config, actions);
  return drain === undefined ? { actions } : { refused: `needs a drain first: ${drain}` };
}

function actionsFor(
  { kind, path }: DriftFinding,
  wanted: WantedPaths,
  policies: DisruptionPolicies,
): readonly DisruptionAction[] | undefined {
  if (kind === 'unit') return unitActions(path, policies);
  const entry = wanted.get(path);
  switch (entry?.part) {
    case 'file':
      return closestFilePolicy(path, policies.files)?.actions ?? REBOOT;
    case 'unit':
      return unitActions(entry.name, policies);
    case 'sshKeys':
      return policies.sshkey.actions;
    case undefined:
      return undefined;
  }
}

function unitActions(name: string, { units }: DisruptionPolicies): readonly DisruptionAction[] {
  return units.find((policy) => policy.name === name)?.actions ?? REBOOT;
}

/** An unreadable file needs a drain. */
async function registriesDrain(
  { files }: Pick<HostPorts, 'files'>,
  desired: IgnitionConfig,
  actions: readonly DisruptionAction[],
): Promise<string | undefined> {
  const state = await files.look(REGISTRIES_CONF);
  const others = (desired.storage?.files ?? []).filter(({ path }) => path !== REGISTRIES_CONF);
  const now =
    state.kind === 'file'
      ? [
          {
            path: REGISTRIES_CONF,
            contents: {
              source: `data:;base64,${state.content.toString('base64')}`,
            },
          },
        ]
      : [];
  const old = { ...desired, storage: { ...desired.storage, files: [...others, ...now] } };
  try {
    const decision = decideDrain({ actions, old, desired, ports: CONTENT_PORTS });
    return decision.drain ? decision.reason : undefined;
  } catch (error) {
    if (failureName(error) === undefined) throw error;
    return messageOf(error);
  }
}
