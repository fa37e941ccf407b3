/** `slipway plan POOL`: nodes in order, cost and cause of each change, and blockers. */

import { gunzipSync } from 'node:zlib';
import { parse as parseToml } from 'smol-toml';
import { mergeDisruptionPolicies, policyProblemsText } from '../../core/disruption';
import type { ContentPorts, DisruptionPolicies } from '../../core/disruption';
import type { Pod } from '../../core/drain';
import {
  controllerOf,
  isOnlyNode,
  MCO_DRAIN_OPTIONS,
  NO_DRAIN,
  predictBlockers,
} from '../../core/drain';
import { unlessAbsent } from '../../adapters/kube/unless-absent';
import { messageOf } from '../../core/errors';
import { fewLines } from '../../core/few';
import type { RenderedSpec } from '../../core/machine-config/types';
import type { UpdatePlan } from '../../core/node/plan';
import { describePlan, planUpdate } from '../../core/node/plan';
import { PoolCondition } from '../../core/names';
import { nodesOfPool } from '../../core/pool';
import type { MachineConfigPool, ResolvedPolicy } from '../../core/pool/types';
import type { NamedReason } from '../../core/rollout';
import { controlPlaneOf, DEFAULT_POLICY, loweredSentence, resolvePolicy } from '../../core/rollout';
import { type Observation, type Picture, pictureOf } from '../../core/rollout/picture';
import { inTurn, type Member } from '../../core/rollout/standing';
import type { ExitCode } from '../exit-codes';
import { EXIT } from '../exit-codes';
import type { OutputFormat } from '../output';
import type { CliCluster, CliContext, ClusterView } from '../ports';
import { foldNames, simulatedHosts } from '../tree';
import { planBlocker } from './plan-blocker';
import { foreignUpdaters, type UpdaterGroup, updaterLines } from './plan-updaters';
import { findPool, printMachineReadable } from './rollout';

const PORTS: ContentPorts = {
  gunzip: (bytes) => new Uint8Array(gunzipSync(bytes)),
  parseToml: (text) => parseToml(text),
};

interface PlanGroup {
  /** Absent = never configured. */
  readonly from?: string;
  readonly nodes: readonly string[];
  readonly plan: UpdatePlan;
}

interface PoolPlan {
  readonly pool: string;
  readonly target?: string;
  /** Absent = the target is up to date. */
  readonly notRendered?: string;
  /** Absent = a node can start now. */
  readonly blocker?: string;
  readonly maxUnavailable: number;
  /** When it is below the pool's maxUnavailable. */
  readonly controlPlane?: string;
  readonly machineCount: number;
  readonly simulatedCount: number;
  readonly updated: number;
  readonly order: readonly string[];
  readonly groups: readonly PlanGroup[];
  /** What is wrong with the disruption policies, so that earlier ones are in force. */
  readonly wrongPolicies?: string;
  /** Why a drain is left out; absent = it is not. */
  readonly noDrain?: string;
  /** Pods and budgets that would delay a drain now. */
  readonly blockers: readonly string[];
  readonly failed: readonly NamedReason[];
  readonly held: readonly NamedReason[];
  readonly blocked: readonly NamedReason[];
  readonly foreignUpdaters: readonly UpdaterGroup[];
}

/** Reads and predicts; changes nothing. */
export async function planPool(
  context: CliContext,
  poolName: string,
  output: OutputFormat,
): Promise<ExitCode> {
  const cluster = await context.cluster();
  const view = await cluster.read();
  const pool = findPool(view, poolName);
  const plan = await planOf(cluster, view, pool, new Date(context.now()).toISOString());
  if (!printMachineReadable(context, output, plan)) printPlan(context, plan);
  const refused = plan.groups.some((group) => !group.plan.reconcilable.ok);
  return refused ? EXIT.FAILED : EXIT.OK;
}

async function planOf(
  cluster: CliCluster,
  view: ClusterView,
  pool: MachineConfigPool,
  now: string,
): Promise<PoolPlan> {
  const { policy, impossible } = policyOf(view, pool);
  const observed = observationOf(view, pool, policy, now);
  const picture = pictureOf(observed);
  const { target, members, quorum } = picture;
  const candidates = candidatesOf(picture);
  const desired = target === undefined ? undefined : await renderedSpec(cluster, target);
  const { policy: disruption, problems } = await cluster.disruptionPolicy();
  const policies = mergeDisruptionPolicies(disruption);
  const groups = await planGroups(cluster, candidates, desired, policies);
  const blocker = impossible ?? planBlocker(view, observed, candidates, desired !== undefined);
  const wanted = groups.filter(({ plan }) => plan.drain).flatMap(({ nodes }) => nodes);
  const draining = new Set(wanted.filter((name) => !isOnlyNode(name, view.nodes)));
  return {
    pool: pool.metadata.name,
    ...(target === undefined ? {} : { target }),
    ...notRendered(pool),
    ...(blocker === undefined ? {} : { blocker }),
    maxUnavailable: picture.maxUnavailable,
    ...(quorum?.isLimiting === true ? { controlPlane: loweredSentence(quorum.total) } : {}),
    machineCount: members.length,
    simulatedCount: picture.simulated,
    updated: members.filter(({ standing }) => standing.is === 'updated').length,
    order: candidates.map(({ name }) => name),
    groups,
    ...(problems.length === 0 ? {} : { wrongPolicies: policyProblemsText(problems) }),
    ...(draining.size < wanted.length ? { noDrain: NO_DRAIN } : {}),
    blockers: await blockersOn(cluster, draining, now),
    failed: leftAlone(members, 'failed'),
    held: leftAlone(members, 'held'),
    blocked: target === undefined ? [] : leftAlone(members, 'blocked'),
    foreignUpdaters: foreignUpdaters(view, observed.nodes),
  };
}

/** An impossible one stops the rollout, and is named. */
function policyOf({ policies }: ClusterView, pool: MachineConfigPool) {
  const own = policies.find(({ metadata }) => metadata.name === pool.metadata.name);
  try {
    return { policy: resolvePolicy(own?.spec) };
  } catch (error) {
    return { policy: DEFAULT_POLICY, impossible: messageOf(error) };
  }
}

function observationOf(
  view: ClusterView,
  pool: MachineConfigPool,
  policy: ResolvedPolicy,
  now: string,
): Observation {
  const before = view.poolRollouts.get(pool.metadata.name)?.status;
  return {
    pool,
    policy,
    nodes: nodesOfPool(pool, view.nodes, view.pools),
    controlPlane: controlPlaneOf(view.nodes),
    machineConfigNodes: [...view.machineConfigNodes.values()],
    ...(before === undefined ? {} : { before }),
    closed: new Set(),
    now,
  };
}

/** Those whose update runs or was lost, then those whose turn is still to come. */
function candidatesOf({ members }: Picture): readonly Member[] {
  return inTurn(members.filter(({ standing: { is } }) => is === 'taken' || is === 'open'));
}

function leftAlone(
  members: readonly Member[],
  is: 'failed' | 'held' | 'blocked',
): readonly NamedReason[] {
  return members.flatMap(({ name, standing }) =>
    standing.is === is ? [{ node: name, reason: standing.reason }] : [],
  );
}

function notRendered(pool: MachineConfigPool): Pick<PoolPlan, 'notRendered'> {
  const degraded = pool.status?.conditions?.find(
    ({ type, status }) => type === PoolCondition.RENDER_DEGRADED && status === 'True',
  );
  return degraded === undefined ? {} : { notRendered: degraded.message ?? '' };
}

/** A pool of any size has few current configs. */
async function planGroups(
  cluster: CliCluster,
  members: readonly Member[],
  desired: RenderedSpec | undefined,
  policies: DisruptionPolicies,
): Promise<readonly PlanGroup[]> {
  if (desired === undefined) return [];
  const byConfig = new Map<string | undefined, Member[]>();
  for (const candidate of members) {
    const group = byConfig.get(candidate.currentConfig) ?? [];
    group.push(candidate);
    byConfig.set(candidate.currentConfig, group);
  }
  return Promise.all(
    [...byConfig].map(async ([from, candidates]) => ({
      ...(from === undefined ? {} : { from }),
      nodes: candidates.map(({ name }) => name),
      plan: planUpdate({
        current: from === undefined ? undefined : await renderedSpec(cluster, from),
        desired,
        policies,
        ports: PORTS,
      }),
    })),
  );
}

/** Undefined when the config is deleted: the node's copy decides at the update. */
async function renderedSpec(cluster: CliCluster, name: string): Promise<RenderedSpec | undefined> {
  const config = await unlessAbsent(cluster.machineConfig(name));
  return config?.spec as RenderedSpec | undefined;
}

async function blockersOn(
  cluster: CliCluster,
  draining: ReadonlySet<string>,
  now: string,
): Promise<readonly string[]> {
  if (draining.size === 0) return [];
  const [pods, budgets, daemonSets] = await Promise.all([
    cluster.pods(),
    cluster.budgets(),
    cluster.daemonSets(),
  ]);
  const there = pods.filter(
    ({ spec }) => spec?.nodeName !== undefined && draining.has(spec.nodeName),
  );
  const context = {
    options: MCO_DRAIN_OPTIONS,
    now,
    missingDaemonSets: missingDaemonSets(there, new Set(daemonSets)),
  };
  return predictBlockers(there, budgets, context).map(({ sentence }) => sentence);
}

/** `namespace/name`. Pods of deleted DaemonSets are evicted. */
function missingDaemonSets(pods: readonly Pod[], existing: ReadonlySet<string>): readonly string[] {
  const owners = pods.flatMap((pod) => {
    const owner = controllerOf(pod);
    return owner?.kind === 'DaemonSet' ? [`${pod.metadata.namespace ?? ''}/${owner.name}`] : [];
  });
  return [...new Set(owners)].filter((owner) => !existing.has(owner));
}

function printPlan(context: CliContext, plan: PoolPlan): void {
  const { out, style } = context.terminal;
  const lines = [
    `${style.bold(`pool ${plan.pool}`)} → ${plan.target ?? 'no rendered config yet'}`,
    [
      `${plan.updated} of ${plan.machineCount} nodes are on it`,
      `at most ${plan.maxUnavailable} unavailable at once`,
      ...simulatedHosts(plan),
    ].join('; '),
  ];
  if (plan.controlPlane !== undefined) lines.push(style.yellow(plan.controlPlane));
  if (plan.notRendered !== undefined) {
    lines.push(style.red(`the target is older than the MachineConfigs: ${plan.notRendered}`));
  }
  if (plan.wrongPolicies !== undefined) {
    lines.push(style.red(`earlier disruption policies are in force: ${plan.wrongPolicies}`));
  }
  if (plan.blocker !== undefined) lines.push(style.yellow(`blocked: ${plan.blocker}`));
  else if (plan.order.length === 0 && plan.notRendered === undefined) {
    lines.push(style.green('nothing to do'));
  }
  for (const group of plan.groups) lines.push('', ...groupLines(group, context));
  if (plan.noDrain !== undefined) lines.push('', style.yellow(plan.noDrain));
  if (plan.order.length > 0) lines.push('', `${style.bold('order')}  ${foldNames(plan.order)}`);
  lines.push(
    ...section(style.yellow('would block a drain now'), plan.blockers),
    ...section(style.red('failed on this config (slipway node retry NODE)'), named(plan.failed)),
    ...section(style.yellow('held by a person'), named(plan.held)),
    ...section(style.yellow('cannot be taken now'), named(plan.blocked)),
    ...section(style.yellow('have other updaters'), updaterLines(plan.foreignUpdaters)),
  );
  out.write(`${lines.join('\n')}\n`);
}

function groupLines(group: PlanGroup, context: CliContext): readonly string[] {
  const { style } = context.terminal;
  const count = `${group.nodes.length} node${group.nodes.length === 1 ? '' : 's'}`;
  const head = `${style.bold(count)} from ${group.from ?? 'no config'}: ${foldNames(group.nodes)}`;
  if (!group.plan.reconcilable.ok) {
    return [head, style.red(`  cannot be applied: ${group.plan.reconcilable.reason}`)];
  }
  const phases = group.plan.phases.map(({ phase }) => phase).join(' → ');
  const plan = describePlan(group.plan).map((line) => `  ${line}`);
  return [head, ...plan, style.dim(`  phases: ${phases}`)];
}

function named(reasons: readonly NamedReason[]): readonly string[] {
  return reasons.map(({ node, reason }) => `${node}: ${reason}`);
}

/** At most 20 lines. */
function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return ['', title, ...fewLines(lines, { most: 20 }).map((line) => `  ${line}`)];
}
