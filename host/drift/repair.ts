/** Repairs drifted paths without a reboot, through the undo journal. */

import { actionText, type DisruptionPolicies, runnableActions } from '../../core/disruption';
import type { DisruptionAction } from '../../core/disruption';
import type { DriftFinding } from '../../core/drift';
import { messageOf } from '../../core/errors';
import type { UpdatePlan } from '../../core/node/plan';
import { planInPlace } from '../../core/node/plan-in-place';
import { heldPaths } from '../paths/appended';
import { changeWithDirectories } from '../paths/directories';
import { repairCost } from './repair-costs';
import { pathChanges } from '../paths/path-changes';
import { enablementAgain } from '../services/enablement';
import type { HostPorts, OpenJournal } from '../ports';
import { beforeUpdate } from '../update/prove-running';
import type { HostConfig } from '../records/configs';
import { endRepair } from './unfinished-repair';
import { changesUnits, performActions, runningServices } from '../services/services';
import { UNIT_DIRECTORY } from '../paths/wanted-paths';

export type RepairPorts = Pick<
  HostPorts,
  'node' | 'files' | 'users' | 'systemd' | 'journal' | 'os' | 'now' | 'context' | 'pause' | 'warn'
>;

interface RepairInput {
  readonly config: HostConfig;
  readonly findings: readonly DriftFinding[];
  readonly policies: DisruptionPolicies;
  /** Whether this path may be rewritten once more. */
  readonly mayRepair: (path: string) => boolean;
  /** Whether services may be reloaded or restarted at present. */
  readonly mayDisturb: boolean;
  /** Called before the paths are rewritten: a repair that crashes the machine counts, too. */
  readonly count: (paths: readonly string[]) => Promise<void>;
}

export interface Repaired {
  readonly paths: readonly string[];
  /** A sentence. */
  readonly unrepaired?: string;
}

/**
 * Rewrites the paths that need neither reboot nor drain, and runs their actions. If a service
 * fails, restores the paths. Not beside an activity or an open journal.
 */
export async function repairDrift(ports: RepairPorts, input: RepairInput): Promise<Repaired> {
  const { due, actions, refusals } = await affordable(ports, input);
  const told = refusals.length === 0 ? {} : { unrepaired: refusals.join('; ') };
  if (due.length === 0) return { paths: [], ...told };
  const paths = due.map(({ path }) => path);
  await input.count(paths);
  const problem = await rewrite(ports, input.config, due, actions);
  if (problem === undefined) return { paths, ...told };
  return { paths, unrepaired: [`not repaired: ${problem}`, ...refusals].join('; ') };
}

interface Affordable {
  readonly due: readonly DriftFinding[];
  readonly actions: readonly DisruptionAction[];
  readonly refusals: readonly string[];
}

const REFUSALS_TOLD = 3;

async function affordable(ports: RepairPorts, input: RepairInput): Promise<Affordable> {
  const { config } = input.config.spec;
  const wanted = await heldPaths(ports.files, input.config.spec);
  const due: DriftFinding[] = [];
  const actions: DisruptionAction[] = [];
  const refusals: string[] = [];
  for (const finding of input.findings) {
    const cost = await repairCost(ports, finding, wanted, config, input.policies);
    if ('refused' in cost) refusals.push(`not repaired: ${finding.path} ${cost.refused}`.trim());
    else if (!input.mayRepair(finding.path)) {
      refusals.push(`not repaired any more: ${finding.path} drifts again and again`);
    } else if (!input.mayDisturb && disturbing(cost.actions).length > 0) {
      const what = disturbing(cost.actions).map(actionText).join(', ');
      refusals.push(
        `not repaired yet: ${finding.path} waits for this node's turn in its pool to ${what}`,
      );
    } else {
      due.push(finding);
      actions.push(...cost.actions);
    }
  }
  return { due, actions: runnableActions(actions), refusals: refusals.slice(0, REFUSALS_TOLD) };
}

/** Actions that may take a node out of service for a moment. */
function disturbing(actions: readonly DisruptionAction[]): readonly DisruptionAction[] {
  return runnableActions(actions).filter(({ type }) => type !== 'DaemonReload');
}

/** Returns the reason if the paths were restored. */
async function rewrite(
  ports: RepairPorts,
  config: HostConfig,
  due: readonly DriftFinding[],
  actions: readonly DisruptionAction[],
): Promise<string | undefined> {
  const status = await ports.os.status();
  const id = `repair/${ports.now().toISOString()}`;
  const journal = await ports.journal.begin(id, {
    orderId: id,
    node: ports.node,
    driver: ports.os.name,
    target: config.reference,
    previous: config.reference,
    previousDeployment: status.booted.id,
    before: beforeUpdate(status),
    repair: true,
    plan: planOf(due, actions),
  });
  try {
    await writeAll(ports, journal, config, due);
    await journal.mark({ kind: 'applied' });
    const running = await runningServices(ports, actions);
    await journal.mark({ kind: 'servicesBegun', ...(running === undefined ? {} : { running }) });
    if (changesUnits(journal.header.plan)) await ports.systemd.daemonReload();
    await performActions(ports, actions);
  } catch (error) {
    await endRepair(ports, journal, status);
    return messageOf(error);
  }
  await journal.close();
  return undefined;
}

async function writeAll(
  ports: RepairPorts,
  journal: OpenJournal,
  { spec }: HostConfig,
  due: readonly DriftFinding[],
): Promise<void> {
  const drifted = new Set(due.map(({ path }) => path));
  const wanted = new Map(
    [...(await heldPaths(ports.files, spec))].filter(([path]) => drifted.has(path)),
  );
  // The host is on this config: all originals are kept.
  const { changes } = await pathChanges(ports, wanted, wanted);
  await journal.record(changes.map(({ path }) => path));
  await changeWithDirectories(ports, changes, { spec });
  const dueUnits = due.flatMap(({ kind, path }) => (kind === 'unit' ? [path] : []));
  const units = await enablementAgain(ports.systemd, spec, new Set(dueUnits));
  await journal.record(await ports.systemd.enablementPaths(units));
  await ports.systemd.setEnablement(units);
}

/** For a reader of the journal: the change, and the actions after an undo. */
function planOf(due: readonly DriftFinding[], actions: readonly DisruptionAction[]): UpdatePlan {
  const isOfUnits = ({ kind, path }: DriftFinding): boolean =>
    kind === 'unit' || path.startsWith(`${UNIT_DIRECTORY}/`);
  const named = (kinds: 'units' | 'files') =>
    due.filter((one) => isOfUnits(one) === (kinds === 'units')).map(({ path }) => path);
  return planInPlace({
    files: named('files'),
    units: named('units'),
    actions,
    summary: `repair of ${due.length} drifted ${due.length === 1 ? 'path' : 'paths'}`,
  });
}
