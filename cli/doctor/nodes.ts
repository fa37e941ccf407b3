/** Pools, their nodes, and the machines behind them. */

import { inParallel } from '../../core/concurrency-limit';
import { fewNames } from '../../core/few';
import { bundleShown } from '../../core/host-bundle';
import { isUnheard } from '../../core/node/unheard';
import { unreadyCondition } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import { assignNodes, kubeletLabels, nodesInNoPool, poolHint } from '../../core/pool';
import { foreignUpdaters } from '../commands/plan-updaters';
import type { ClusterView } from '../ports';
import { ok, orOk, problem, warning, type Finding } from './finding';
import type { DoctorTemporal, NodeLease } from './ports';

export function pools(view: ClusterView): readonly Finding[] {
  if (view.pools.length === 0) {
    return [problem('machineconfigpools', 'there is none', 'kubectl apply -f deploy/samples')];
  }
  const { conflicts, invalidPools } = assignNodes(view.nodes, view.pools);
  const findings = [
    ...invalidPools.map(({ pool, reason }) =>
      problem(`machineconfigpool ${pool}`, reason, `kubectl edit mcp ${pool}`),
    ),
    ...conflicts.map(({ node, reason }) =>
      problem(`node ${node}`, reason, `kubectl label node ${node} LABEL-`),
    ),
    ...nodesInNoPool(view.nodes, view.pools).map((node) =>
      warning(`node ${node.metadata.name}`, 'is in no pool', poolHint(node, view.pools)),
    ),
    ...view.pools.flatMap(({ metadata, spec }) =>
      kubeletLabels(spec.nodeSelector).map((label) =>
        warning(
          `machineconfigpool ${metadata.name}`,
          `selects by the label ${label}, which a kubelet may set: who steals one machine reads the configs of this pool`,
          'docs/machine-config-server.md#which-configs-a-host-may-read',
        ),
      ),
    ),
  ];
  const count = view.nodes.length === 1 ? '1 node' : `${view.nodes.length} nodes`;
  return orOk(findings, 'machineconfigpools', `${count} in ${view.pools.length} pools`);
}

const HOST_SERVICE = 'on the machine: systemctl status slipway-host; slipway host status';

/** Nodes of a pool whose host worker has never reported. */
export function unheardHosts(view: ClusterView): readonly Finding[] {
  const names = members(view)
    .filter((node) => isUnheard(node, view.machineConfigNodes.get(node.metadata.name)))
    .map(({ metadata }) => metadata.name);
  if (names.length === 0) return [];
  const says = 'has never reported: the host worker does not run there, or reaches no server';
  return [problem(nodesNamed(names), says, HOST_SERVICE)];
}

/** Nodes of a pool whose host worker has another version than this command. */
export function otherVersions(view: ClusterView, version: string): readonly Finding[] {
  const byVersion = new Map<string, string[]>();
  for (const { metadata } of members(view)) {
    const reported = view.machineConfigNodes.get(metadata.name)?.status?.hostWorker?.version;
    if (reported === undefined || reported === version) continue;
    byVersion.set(reported, [...(byVersion.get(reported) ?? []), metadata.name]);
  }
  return [...byVersion].map(([other, names]) => {
    const says = `the host worker has version ${other}, and this command ${version}`;
    return warning(nodesNamed(names), says, 'docs/machines.md#another-version');
  });
}

const ASKED_AT_ONCE = 16;

/** Nodes of a pool whose host worker does not ask Temporal for work. */
export async function hostWorkers(
  view: ClusterView,
  temporal: DoctorTemporal,
): Promise<readonly Finding[]> {
  const names = members(view).map(({ metadata }) => metadata.name);
  const there = await inParallel(names, ASKED_AT_ONCE, (name) => temporal.hasHostWorker(name));
  const away = names.filter((_name, index) => there[index] !== true);
  if (away.length === 0) return [ok('host workers', 'ask Temporal for work')];
  const says = 'has not asked Temporal for work in the last minutes';
  return [problem(nodesNamed(away), says, HOST_SERVICE)];
}

export function updaters(view: ClusterView): readonly Finding[] {
  return foreignUpdaters(view, view.nodes).map(({ nodes, message }) =>
    warning(nodesNamed(nodes), message, 'docs/machines.md#other-programs-that-update-machines'),
  );
}

/** Hosts that do not have the certificates and secrets that they were given. */
export function bundles(view: ClusterView): readonly Finding[] {
  const byMessage = new Map<string, string[]>();
  for (const { metadata } of members(view)) {
    const shown = bundleShown(view.machineConfigNodes.get(metadata.name));
    if (shown?.status !== 'False') continue;
    byMessage.set(shown.message, [...(byMessage.get(shown.message) ?? []), metadata.name]);
  }
  return [...byMessage].map(([message, names]) =>
    warning(nodesNamed(names), message, 'docs/machine-certificates.md#what-the-conditions-say'),
  );
}

/** Leases and certificates are judged by clocks. */
const SKEW_SECONDS = 5;
/** A kubelet renews its Lease every ten seconds, and is not Ready after forty. */
const STALE_SECONDS = 60;

/**
 * A Lease from the future is of a machine whose clock is ahead; an old one of a node that is Ready, of one whose clock
 * is behind.
 *
 * @param at - the time of the API server, RFC 3339
 * @param nowMs - the time here
 */
export function clocks(
  view: ClusterView,
  leases: readonly NodeLease[],
  { at, nowMs }: { readonly at: string; readonly nowMs: number },
): readonly Finding[] {
  const serverMs = Date.parse(at);
  const ready = new Set(
    view.nodes
      .filter((node) => unreadyCondition(node) === undefined)
      .map(({ metadata }) => metadata.name),
  );
  const mend = 'on the machine: timedatectl status; systemctl status chronyd';
  const skewed = leases.flatMap(({ node, renewedAt }) => {
    const seconds = (Date.parse(renewedAt) - serverMs) / 1000;
    const isBehind = ready.has(node) && seconds < -STALE_SECONDS;
    if (seconds <= SKEW_SECONDS && !isBehind) return [];
    const says = `its clock is ${inSeconds(seconds)} the API server's`;
    return [problem(`node ${node}`, says, mend)];
  });
  const here = (nowMs - serverMs) / 1000;
  const own =
    Math.abs(here) <= SKEW_SECONDS
      ? []
      : [
          warning(
            'this machine',
            `its clock is ${inSeconds(here)} the API server's`,
            'timedatectl status',
          ),
        ];
  return orOk([...own, ...skewed], 'clocks', `of ${leases.length} nodes and here agree`);
}

function inSeconds(seconds: number): string {
  return `${Math.round(Math.abs(seconds))} s ${seconds > 0 ? 'ahead of' : 'behind'}`;
}

function members({ nodes, pools: all }: ClusterView): readonly Node[] {
  return [...assignNodes(nodes, all).members.values()].flat();
}

function nodesNamed(names: readonly string[]): string {
  return names.length === 1 ? `node ${names[0]}` : `${names.length} nodes (${fewNames(names)})`;
}
