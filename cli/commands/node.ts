/** `slipway node status|retry|skip|cancel NODE`. */

import { ANNOTATION, NodeCondition } from '../../core/names';
import type { Condition } from '../../core/object-meta';
import type { MachineConfigNode, Node } from '../../core/node/types';
import { primaryPoolForNode } from '../../core/pool';
import type { MachineConfigPool } from '../../core/pool/types';
import { isCordonedBySlipway } from '../../core/rollout';
import type { StepResult } from '../../workflows/contracts/rollout';
import type { NodeStatus } from '../../workflows/contracts/update';
import { formatAge } from '../durations';
import type { ExitCode } from '../exit-codes';
import { cliError, EXIT } from '../exit-codes';
import { type RunningStep, stepText } from '../running-step';
import type { OutputFormat } from '../output';
import { awaitAnswer, WORKER } from '../await-answer';
import type { CliContext, ClusterView, HostWorkerRecord, PausedInTemporal } from '../ports';
import { printMachineReadable } from './rollout';

/** Or the exit that names what is missing. */
function findNode(
  view: ClusterView,
  name: string,
): { readonly node: Node; readonly pool: MachineConfigPool } {
  const node = view.nodes.find((candidate) => candidate.metadata.name === name);
  if (node === undefined) throw cliError(EXIT.NOT_FOUND, `node ${name} not found`);
  const pool = primaryPoolForNode(node, view.pools);
  if (pool === undefined) {
    throw cliError(EXIT.NOT_FOUND, `node ${name} belongs to no pool; check its role labels`);
  }
  return { node, pool };
}

type NodeUpdateStatus = (NodeStatus | PausedInTemporal) & { readonly step?: RunningStep };

interface NodeReport {
  readonly node: string;
  readonly pool: string;
  readonly target?: string;
  readonly currentConfig?: string;
  readonly desiredConfig?: string;
  readonly state?: string;
  readonly reason?: string;
  readonly unschedulable: boolean;
  readonly cordonedBy?: string;
  readonly heldFor?: string;
  readonly hostWorker?: HostWorkerRecord;
  readonly update?: NodeUpdateStatus;
  readonly conditions: readonly Condition[];
}

/** Exit 4 when the update failed. */
export async function nodeStatus(
  context: CliContext,
  name: string,
  output: OutputFormat,
): Promise<ExitCode> {
  const view = await (await context.cluster()).read();
  const { node, pool } = findNode(view, name);
  const temporal = await context.temporal();
  const update = await awaitAnswer(context, WORKER, temporal.nodeStatus(name));
  const hostWorker = await temporal.hostWorker(name);
  const report = nodeReport(node, pool, view.machineConfigNodes.get(name), { update, hostWorker });
  if (!printMachineReadable(context, output, report)) printNode(context, report);
  return report.state === 'Degraded' || report.state === 'Unreconcilable' ? EXIT.FAILED : EXIT.OK;
}

function nodeReport(
  node: Node,
  pool: MachineConfigPool,
  machineConfigNode: MachineConfigNode | undefined,
  work: {
    readonly update: NodeUpdateStatus | undefined;
    readonly hostWorker: HostWorkerRecord | undefined;
  },
): NodeReport {
  const annotation = (key: string) => node.metadata.annotations?.[key] || undefined;
  const optional = {
    target: pool.spec.configuration?.name,
    currentConfig: annotation(ANNOTATION.CURRENT_CONFIG),
    desiredConfig: annotation(ANNOTATION.DESIRED_CONFIG),
    state: annotation(ANNOTATION.STATE),
    reason: annotation(ANNOTATION.REASON),
    cordonedBy: isCordonedBySlipway(node) ? annotation(ANNOTATION.CORDONED_BY) : undefined,
    heldFor: annotation(ANNOTATION.HELD_FOR),
    ...work,
  };
  const present = Object.fromEntries(
    Object.entries(optional).filter(([, value]) => value !== undefined),
  ) as Partial<typeof optional> as Pick<NodeReport, 'target'>;
  return {
    node: node.metadata.name,
    pool: pool.metadata.name,
    ...present,
    unschedulable: node.spec?.unschedulable === true,
    conditions: machineConfigNode?.status?.conditions ?? [],
  };
}

function printNode(context: CliContext, report: NodeReport): void {
  const { out, style } = context.terminal;
  const row = (label: string, value: string | undefined) =>
    value === undefined ? [] : [`${`${label}:`.padEnd(17)}${value}`];
  const cordon = report.unschedulable ? `yes, by ${report.cordonedBy ?? 'a person'}` : 'no';
  const state = report.state ?? 'never configured';
  const lines = [
    ...row('Node', style.bold(report.node)),
    ...row('Pool', report.pool),
    ...row('State', paintState(state, style)),
    ...row('Reason', report.reason),
    ...row('Current config', report.currentConfig),
    ...row('Desired config', report.desiredConfig),
    ...row('Pool target', report.target),
    ...row('Cordoned', cordon),
    ...row('Held for', report.heldFor),
    ...row('Host worker', hostWorkerText(report.hostWorker, context.now())),
    ...updateLines(report, context.now(), row),
    ...conditionLines(report.conditions, context),
  ];
  out.write(`${lines.join('\n')}\n`);
}

function hostWorkerText(hostWorker: HostWorkerRecord | undefined, nowMs: number): string {
  if (hostWorker === undefined) return 'none has asked for work lately';
  const { identity, askedAt, simulated } = hostWorker;
  const label = simulated === true ? ', simulated: no machine is behind it' : '';
  return `${identity}, asked for work ${formatAge(askedAt, nowMs)} ago${label}`;
}

function updateLines(
  report: NodeReport,
  nowMs: number,
  row: (label: string, value: string | undefined) => string[],
): readonly string[] {
  const { update } = report;
  if (update === undefined) return row('Update', 'none runs');
  const step = update.step === undefined ? undefined : stepText(update.step) || undefined;
  if ('pausedInTemporal' in update) {
    return [...row('Update', update.pausedInTemporal), ...row('  step', step)];
  }
  return [
    ...row('Update', `${update.phase} for ${formatAge(update.since, nowMs)}`),
    ...row('  does', update.summary),
    ...row('  step', step),
    ...row('  waits for', update.blocker),
    ...row(
      '  to cancel',
      update.pastPointOfNoReturn ? 'too late: it reboots' : `slipway node cancel ${report.node}`,
    ),
  ];
}

const STATUS_SHOWN = { True: 'true', False: 'false', Unknown: 'in progress' } as const;

function conditionLines(conditions: readonly Condition[], context: CliContext): readonly string[] {
  const notable = conditions.filter(
    // Where it is False, a person may be needed.
    ({ type, status }) => status !== 'False' || type === NodeCondition.HOST_BUNDLE,
  );
  if (notable.length === 0) return [];
  return [
    'Conditions:',
    ...notable.map((condition) => {
      const age = formatAge(condition.lastTransitionTime, context.now());
      const status = STATUS_SHOWN[condition.status];
      return `  ${condition.type.padEnd(28)}${status.padEnd(13)}${age.padEnd(8)}${condition.message}`;
    }),
  ];
}

function paintState(state: string, style: CliContext['terminal']['style']): string {
  if (state === 'Done') return style.green(state);
  if (state === 'Degraded' || state === 'Unreconcilable') return style.red(state);
  return style.cyan(state);
}

type NodeVerb = 'retry' | 'skip' | 'cancel';

const UPDATE_NAME = { retry: 'retryNode', skip: 'skipNode', cancel: 'cancelNode' } as const;

const DONE: Readonly<Record<NodeVerb, (node: string) => string>> = {
  retry: (node) => `node ${node} will be tried again`,
  skip: (node) =>
    `node ${node} is skipped until the config changes or \`slipway node retry ${node}\``,
  cancel: (node) =>
    `the update of node ${node} is being cancelled; it is held until \`slipway node retry ${node}\``,
};

export async function nodeRequest(
  context: CliContext,
  verb: NodeVerb,
  name: string,
  reason: string | undefined,
): Promise<ExitCode> {
  const cluster = await context.cluster();
  const { node, pool } = findNode(await cluster.read(), name);
  const temporal = await context.temporal();
  const user = await context.user();
  const request = {
    node: name,
    ...(reason === undefined ? {} : { reason }),
    ...(user === undefined ? {} : { by: user }),
  };
  await refuseTooLate(context, verb, { node, pool });
  const answer = await awaitAnswer(
    context,
    WORKER,
    temporal.node(UPDATE_NAME[verb], pool.metadata.name, request),
  );
  // The update may have reached its reboot meanwhile.
  await refuseTooLate(context, verb, { node, pool });
  context.terminal.err.write(`${DONE[verb](name)}\n${whyNotYet(verb, pool, answer)}`);
  return EXIT.OK;
}

/** A rollout that a person cancelled, or has to start, has only written the word down. */
function whyNotYet(verb: NodeVerb, { metadata }: MachineConfigPool, { ended }: StepResult): string {
  if (verb !== 'retry' || (ended !== 'cancelled' && ended !== 'not started')) return '';
  return `no rollout of the pool runs, so no node starts: slipway rollout start ${metadata.name}\n`;
}

/** After the point of no return an update cannot be stopped. */
async function refuseTooLate(
  context: CliContext,
  verb: NodeVerb,
  { node, pool }: Found,
): Promise<void> {
  if (verb === 'retry') return;
  const { name } = node.metadata;
  const temporal = await context.temporal();
  const update = await awaitAnswer(context, WORKER, temporal.nodeStatus(name));
  // A workflow that is paused in Temporal cannot answer.
  if (update === undefined || 'pausedInTemporal' in update || !update.pastPointOfNoReturn) return;
  // Skip is about the pool's target, which may be newer than that of the update.
  if (verb === 'skip' && update.config !== pool.spec.configuration?.name) return;
  throw cliError(
    EXIT.FAILED,
    `too late to ${verb}: node ${name} reboots into ${update.config}; it keeps that config when it is verified there, and rolls back otherwise`,
  );
}

interface Found {
  readonly node: Node;
  readonly pool: MachineConfigPool;
}
