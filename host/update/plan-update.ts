/** Plans an update: `core` decides, this module reads. */

import { gunzipSync } from 'node:zlib';
import { parse as parseToml } from 'smol-toml';
import { mergeDisruptionPolicies } from '../../core/disruption';
import { fail } from '../../core/errors';
import { planUpdate, type PlannedChange, type UpdatePlan } from '../../core/node/plan';
import { planPhases } from '../../core/node/plan-phases';
import type { UpdateOrder } from '../../workflows/contracts/host';
import { forcedPlan } from './force-file';
import type { HostPorts, OsStatus, UpdateHeader } from '../ports';
import type { HostConfig } from '../records/configs';

const MOST_TEXT_BYTES = 16 * 1024 * 1024;

export const CONTENT_PORTS = {
  parseToml: (text: string): unknown => parseToml(text),
  gunzip: (bytes: Uint8Array): Uint8Array =>
    gunzipSync(bytes, { maxOutputLength: MOST_TEXT_BYTES }),
};

/**
 * The running OS precedes the record, so that an unexpected deployment is corrected.
 *
 * @param forced - a person requested everything again, and a reboot
 * @throws `Unreconcilable` when the plan needs an OS change that the driver cannot make
 */
export function planFor(
  ports: Pick<HostPorts, 'os'>,
  order: UpdateOrder,
  from: HostConfig | undefined,
  to: HostConfig,
  status: OsStatus,
  forced = false,
): UpdatePlan {
  const { booted } = status;
  // An image that is not managed needs no plan.
  const bootedImage = ports.os.managesOs ? booted.image : to.spec.osImageURL;
  const plan = planUpdate({
    current: from?.spec,
    desired: to.spec,
    policies: mergeDisruptionPolicies(order.disruptionPolicies),
    osState: {
      kernelArguments: booted.kernelArguments,
      ...(bootedImage === undefined ? {} : { bootedImage }),
    },
    ports: CONTENT_PORTS,
  });
  if (!ports.os.managesOs) refuseOsChanges(ports.os.name, plan);
  const small = { ...plan, changes: plan.changes.map(withoutRule) };
  return forced ? forcedPlan(small) : small;
}

/** Thousands of changes have to fit into a history; their texts name the rule, too. */
function withoutRule({ part, what, cost, why }: PlannedChange): PlannedChange {
  return { part, what, cost, why };
}

/** The update first rolls an earlier one back, once the node is drained. */
export function planBack(
  { target, plan }: UpdateHeader,
  { reboot }: { reboot: boolean },
): UpdatePlan {
  const actions = reboot ? [{ type: 'Reboot' } as const] : plan.actions;
  const back = { ...plan, actions, drain: true, reboot };
  const reason = reboot ? 'the node reboots' : 'services read the old files again';
  const summary = `roll back the lost update to ${target.name}`;
  return { ...back, phases: planPhases(back, { drain: true, reason }), summary };
}

/** The order of kernel arguments counts, too. */
export function changesOs(plan: UpdatePlan): boolean {
  return plan.changes.some(({ part }) => part === 'OS');
}

function refuseOsChanges(driver: string, plan: UpdatePlan): void {
  if (!changesOs(plan)) return;
  const wanted = plan.changes.filter(({ part }) => part === 'OS').map(({ what }) => what);
  throw fail(
    'Unreconcilable',
    `the OS driver "${driver}" of this host does not change the operating system; the config wants: ${wanted.join(', ')}`,
  );
}
