/** `node-candidates-status.json`: a pool and its nodes → the next candidates and the pool's status. */

import { messageOf } from '../../core/errors';
import { ANNOTATION, LABEL, NodeCondition } from '../../core/names';
import type { MachineConfigNode, Node } from '../../core/node/types';
import {
  allCandidates,
  calculateStatus,
  maxUnavailable,
  selectCandidates,
  unavailableNodes,
  type Layering,
  type MachineConfigPool,
} from '../../core/pool';
import {
  casesOf,
  isJsonObject,
  type ConformanceCase,
  type ConformanceKind,
  type JsonObject,
} from './kind';
import { imagesOf, layeringOf } from './layering';

/** An absent key is Go's zero value. */
interface CaseNode extends JsonObject {
  readonly Name: string;
  readonly Cur?: string;
  readonly Des?: string;
  readonly State?: string;
  readonly Reason?: string;
  readonly Ready?: string;
  readonly Unsched?: boolean;
  readonly DiskPressure?: string;
  readonly NetUnavail?: string;
  readonly Zone?: string;
  /** Seconds; larger is older. */
  readonly Age?: number;
  /** Message of the MachineConfigNode's NodeDegraded=True condition. */
  readonly MCNDegraded?: string;
}

interface CaseInput extends JsonObject {
  readonly Name: string;
  readonly Pool: string;
  readonly Config?: string;
  readonly StatusConfig?: string;
  readonly MaxUnavailable?: number | string | null;
  readonly Paused?: boolean;
  readonly Nodes?: readonly CaseNode[] | null;
}

const INPUT_KEYS: ReadonlySet<string> = new Set([
  ...['Name', 'Pool', 'Config', 'StatusConfig', 'MaxUnavailable', 'Paused', 'Nodes'],
]);
const NODE_KEYS: ReadonlySet<string> = new Set([
  ...['Name', 'Cur', 'Des', 'State', 'Reason', 'Ready', 'Unsched', 'DiskPressure'],
  ...['NetUnavail', 'Zone', 'Age', 'MCNDegraded'],
]);

/** Any fixed time: only differences of ages matter. */
const NOW = '2030-01-01T00:00:00Z';

export const candidatesKind: ConformanceKind = {
  name: 'node candidates and pool status',
  matches: (file) => {
    const first = casesOf(file)?.[0];
    return (
      first !== undefined &&
      isJsonObject(first['input']) &&
      'Pool' in first['input'] &&
      isJsonObject(first['expected']) &&
      'Capacity' in first['expected']
    );
  },
  cases: (file) =>
    (casesOf(file) ?? []).map((entry, index): ConformanceCase => {
      const { input, expected } = entry;
      if (!isJsonObject(input) || typeof input['Name'] !== 'string' || !isJsonObject(expected)) {
        throw new Error(`case ${index} has no input.Name or no expected`);
      }
      const given = input as unknown as CaseInput;
      return { name: given.Name, run: () => ({ expected, actual: answer(given) }) };
    }),
};

function answer(input: CaseInput): unknown {
  const pool = poolOf(input);
  const layering = layeringOf(input, INPUT_KEYS, input.Config);
  const nodes = (input.Nodes ?? []).map(nodeOf);
  const status = calculateStatus({
    pool,
    nodes,
    machineConfigNodes: (input.Nodes ?? []).flatMap(machineConfigNodeOf),
    now: NOW,
    layering,
  });
  return {
    Name: input.Name,
    ...selection(pool, nodes, layering),
    MachineCount: status.machineCount,
    Updated: status.updatedMachineCount,
    Ready: status.readyMachineCount,
    Unavail: status.unavailableMachineCount,
    Degr: status.degradedMachineCount,
    StatusConfig: status.configuration?.name ?? '',
    Conditions: (status.conditions ?? []).map(({ type, status: value, reason, message }) => ({
      Type: type,
      Status: value,
      Reason: reason,
      Message: message,
    })),
  };
}

/** The node controller's decision; empty (Go's nil) when maxUnavailable cannot be parsed. */
function selection(pool: MachineConfigPool, nodes: readonly Node[], layering: Layering): object {
  let limit: number;
  try {
    limit = maxUnavailable(pool, nodes.length);
  } catch (error) {
    return {
      MaxUnavailable: 0,
      MaxErr: messageOf(error),
      Unavailable: null,
      Candidates: null,
      Selected: null,
      Capacity: 0,
    };
  }
  const candidates = allCandidates(pool, nodes, limit, layering);
  return {
    MaxUnavailable: limit,
    MaxErr: '',
    Unavailable: names(unavailableNodes(nodes)),
    Candidates: names(candidates.candidates),
    Selected: names(selectCandidates(candidates)),
    Capacity: candidates.capacity,
  };
}

function names(nodes: readonly Node[]): readonly string[] {
  return nodes.map((node) => node.metadata.name);
}

function poolOf(input: CaseInput): MachineConfigPool {
  const maximum = input.MaxUnavailable ?? undefined;
  return {
    metadata: { name: input.Pool },
    spec: {
      ...(input.Config === undefined ? {} : { configuration: { name: input.Config } }),
      ...(maximum === undefined ? {} : { maxUnavailable: maximum }),
      paused: input.Paused ?? false,
    },
    status: {
      ...(input.StatusConfig === undefined ? {} : { configuration: { name: input.StatusConfig } }),
    },
  };
}

function nodeOf(given: CaseNode): Node {
  const images = imagesOf(given, NODE_KEYS);
  const conditions = [
    { type: 'Ready', status: given.Ready },
    { type: 'DiskPressure', status: given.DiskPressure },
    { type: 'NetworkUnavailable', status: given.NetUnavail },
  ].flatMap(({ type, status }) => (status ? [{ type, status }] : []));
  return {
    metadata: {
      name: given.Name,
      creationTimestamp: new Date(Date.parse(NOW) - (given.Age ?? 0) * 1000).toISOString(),
      labels: given.Zone ? { [LABEL.ZONE]: given.Zone } : {},
      annotations: present({
        [ANNOTATION.CURRENT_CONFIG]: given.Cur,
        [ANNOTATION.DESIRED_CONFIG]: given.Des,
        [ANNOTATION.CURRENT_IMAGE]: images.current,
        [ANNOTATION.DESIRED_IMAGE]: images.desired,
        [ANNOTATION.STATE]: given.State,
        [ANNOTATION.REASON]: given.Reason,
      }),
    },
    spec: { unschedulable: given.Unsched ?? false },
    status: { conditions },
  };
}

function present(annotations: Readonly<Record<string, string | undefined>>) {
  return Object.fromEntries(
    Object.entries(annotations).flatMap(([key, value]) => (value ? [[key, value]] : [])),
  );
}

function machineConfigNodeOf(given: CaseNode): readonly MachineConfigNode[] {
  if (!given.MCNDegraded) return [];
  return [
    {
      metadata: { name: given.Name },
      spec: {
        node: { name: given.Name },
        pool: { name: '' },
        configVersion: { desired: given.Des ?? '' },
      },
      status: {
        conditions: [
          {
            type: NodeCondition.NODE_DEGRADED,
            status: 'True',
            reason: NodeCondition.NODE_DEGRADED,
            message: given.MCNDegraded,
          },
        ],
      },
    },
  ];
}
