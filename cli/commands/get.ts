/** `slipway get pools|nodes|rollouts`. */

import { fewLines } from '../../core/few';
import { ANNOTATION, PoolCondition } from '../../core/names';
import { isSimulated } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';
import { assignNodes, isConditionTrue, nodesInNoPool, poolHint } from '../../core/pool';
import { isCordonedByPerson, isCordonedBySlipway } from '../../core/rollout';
import { formatAge } from '../durations';
import type { ExitCode } from '../exit-codes';
import { EXIT } from '../exit-codes';
import type { WatchOptions } from '../options';
import { type OutputFormat, printListing } from '../output';
import type { CliContext, ClusterView } from '../ports';
import { followListing, type KeyedListing } from './get-watch';
import { findPool, printRollouts } from './rollout';

export async function getPools(context: CliContext, options: WatchOptions): Promise<ExitCode> {
  return list(context, (view) => poolListing(view, context), options);
}

export async function getNodes(
  context: CliContext,
  options: WatchOptions,
  poolName: string | undefined,
): Promise<ExitCode> {
  return list(context, (view) => nodeListing(view, poolName), options);
}

async function list<Row>(
  context: CliContext,
  listingOf: (view: ClusterView) => KeyedListing<Row>,
  options: WatchOptions,
): Promise<ExitCode> {
  if (options.watch) return followListing(context, listingOf, options);
  const { terminal } = context;
  const view = await (await context.cluster()).read();
  const listing = listingOf(view);
  printListing(listing, options.output, terminal);
  return EXIT.OK;
}

function poolListing(view: ClusterView, context: CliContext): KeyedListing<MachineConfigPool> {
  const status = (pool: MachineConfigPool, type: PoolCondition) =>
    isConditionTrue(pool.status?.conditions ?? [], type) ? 'True' : 'False';
  const count = (value: number | undefined) => String(value ?? 0);
  return {
    columns: [
      { header: 'NAME', value: (pool) => pool.metadata.name },
      { header: 'CONFIG', value: (pool) => pool.status?.configuration?.name ?? '' },
      { header: 'TARGET', wide: true, value: (pool) => pool.spec.configuration?.name ?? '' },
      { header: 'UPDATED', value: (pool) => status(pool, PoolCondition.UPDATED) },
      { header: 'UPDATING', value: (pool) => status(pool, PoolCondition.UPDATING) },
      { header: 'DEGRADED', value: (pool) => status(pool, PoolCondition.DEGRADED) },
      { header: 'PAUSED', wide: true, value: (pool) => String(pool.spec.paused === true) },
      { header: 'MACHINES', value: (pool) => count(pool.status?.machineCount) },
      { header: 'READY', value: (pool) => count(pool.status?.readyMachineCount) },
      { header: 'UPDATEDMACHINES', value: (pool) => count(pool.status?.updatedMachineCount) },
      { header: 'DEGRADEDMACHINES', value: (pool) => count(pool.status?.degradedMachineCount) },
      {
        header: 'MAXUNAVAILABLE',
        wide: true,
        value: (pool) => String(pool.spec.maxUnavailable ?? 1),
      },
      {
        header: 'AGE',
        isClock: true,
        value: (pool) => formatAge(pool.metadata.creationTimestamp, context.now()),
      },
    ],
    rows: view.pools,
    key: (pool) => `pool ${pool.metadata.name}`,
    data: withoutManagedFields,
    empty: 'no pools found',
  };
}

/** Of nodes without a pool. */
const HINTS = 10;

interface NodeLine {
  readonly node: Node;
  readonly pool: string;
  readonly hostWorker: string;
}

function nodeListing(view: ClusterView, poolName: string | undefined): KeyedListing<NodeLine> {
  if (poolName !== undefined) findPool(view, poolName);
  const { members } = assignNodes(view.nodes, view.pools);
  const poolOf = new Map(
    [...members].flatMap(([pool, nodes]) => nodes.map((node) => [node.metadata.name, pool])),
  );
  const rows = view.nodes
    .map((node) => {
      const { name } = node.metadata;
      const reported = view.machineConfigNodes.get(name)?.status?.hostWorker;
      return { node, pool: poolOf.get(name) ?? '', hostWorker: reported?.version ?? '' };
    })
    .filter((line) => poolName === undefined || line.pool === poolName);
  const annotation = (line: NodeLine, key: string) => line.node.metadata.annotations?.[key] ?? '';
  const notes = [simulatedNote(rows), poolName === undefined ? noPoolNote(view) : undefined];
  const note = notes.filter((one) => one !== undefined).join('\n');
  return {
    columns: [
      { header: 'NAME', value: (line) => line.node.metadata.name },
      { header: 'POOL', value: (line) => line.pool },
      { header: 'STATE', value: (line) => annotation(line, ANNOTATION.STATE) },
      { header: 'CURRENT', value: (line) => annotation(line, ANNOTATION.CURRENT_CONFIG) },
      { header: 'DESIRED', value: (line) => annotation(line, ANNOTATION.DESIRED_CONFIG) },
      { header: 'CORDONED', value: (line) => cordonOf(line.node) },
      { header: 'OS', wide: true, value: (line) => line.node.status?.nodeInfo?.osImage ?? '' },
      { header: 'HOSTWORKER', wide: true, value: (line) => line.hostWorker },
      { header: 'REASON', wide: true, value: (line) => annotation(line, ANNOTATION.REASON) },
    ],
    rows,
    key: (line) => `node ${line.node.metadata.name}`,
    data: (line) => withoutManagedFields(line.node),
    empty: poolName === undefined ? 'no nodes found' : `no nodes found in pool ${poolName}`,
    ...(note === '' ? {} : { note }),
  };
}

/** Simulated hosts must not be mistaken for machines. */
function simulatedNote(rows: readonly NodeLine[]): string | undefined {
  const simulated = rows.filter(({ node }) => isSimulated(node)).length;
  if (simulated === 0) return undefined;
  const which = simulated === rows.length ? 'all' : String(simulated);
  return `simulated hosts: ${which} of ${rows.length}; no machines are behind them`;
}

/** With the command that fixes each. */
function noPoolNote({ nodes, pools }: ClusterView): string | undefined {
  const left = nodesInNoPool(nodes, pools);
  if (left.length === 0) return undefined;
  const lines = left.map((node) => `${node.metadata.name}: ${poolHint(node, pools)}`);
  return [
    `in no pool, so that they get no config: ${left.length} of ${nodes.length}`,
    ...fewLines(lines, { most: HINTS }).map((line) => `  ${line}`),
  ].join('\n');
}

/** Longer than the rest of the object. */
function withoutManagedFields<T extends { readonly metadata: object }>(object: T): T {
  const metadata = Object.fromEntries(
    Object.entries(object.metadata).filter(([field]) => field !== 'managedFields'),
  );
  return { ...object, metadata };
}

function cordonOf(node: Node): string {
  if (node.spec?.unschedulable !== true) return 'no';
  if (!isCordonedBySlipway(node)) return 'by a person';
  return isCordonedByPerson(node) ? 'by slipway and a person' : 'by slipway';
}

export async function getRollouts(context: CliContext, output: OutputFormat): Promise<ExitCode> {
  const records = await (await context.temporal()).rollouts({ limit: 50 });
  printRollouts(context, records, output);
  return EXIT.OK;
}
