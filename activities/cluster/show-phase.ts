/** One status write per phase at most. */

import { cut } from '../../core/encoding/one-line';
import { fail, failureName, messageOf } from '../../core/errors';
import { NodeCondition } from '../../core/names';
import type { Condition } from '../../core/object-meta';
import { mcnConditions, ownConditions } from '../../core/node/conditions';
import type { NodePhase } from '../../core/node/lifecycle';
import { currentConfigOf, isDone } from '../../core/node/predicates';
import type { MachineConfigNode, Node } from '../../core/node/types';
import { unlessGone } from './known-node';
import { rfc3339 } from '../../core/rfc3339';
import type { ClusterPorts } from './ports';

export interface ShownPhase {
  readonly node: Node;
  readonly pool: string;
  readonly config: string;
  /** The config of the node after this phase: `config`, or the old one after a cancel. */
  readonly desired?: string;
  readonly phase: NodePhase;
  readonly message?: string;
  readonly failure?: string;
  /**
   * The workflow does not wait for it: written only over the known version, while the update shows
   * this config.
   */
  readonly mayBeLate?: true;
  /** Called before each write. */
  readonly throwIfGivenUp?: () => void;
  /** Steps without a phase of their own. */
  readonly done?: readonly NodeCondition[];
}

/** Conditions that are True only before and after an update. */
const ENDS: readonly string[] = [NodeCondition.UPDATED, NodeCondition.NODE_DEGRADED];

/** The limit of Kubernetes. */
const MAX_MESSAGE_LENGTH = 8_000;

/** Others write the MachineConfigNode, too. */
const ATTEMPTS = 5;

type Ports = Pick<ClusterPorts, 'view' | 'machineConfigNodes' | 'now'>;

/**
 * Writes the differences in spec and status, if the object is unchanged. Idempotent.
 *
 * @throws `Conflict` when it may be late and the MachineConfigNode has changed, or when it stays
 *   contended; `ObjectNotFound` when it may be late and was deleted, `ApiUnavailable` when it
 *   cannot be created either; the errors of `throwIfGivenUp`
 */
export async function showPhase(ports: Ports, shown: ShownPhase): Promise<void> {
  const { name } = shown.node.metadata;
  let known = ports.view.machineConfigNodes.get(name);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await showOver(known, ports, shown);
      return;
    } catch (error) {
      if (!isOvertaken(error) || shown.mayBeLate === true) throw error;
      if (attempt >= ATTEMPTS) throw orNotServed(name, error);
      // After a pause of the process the cache is old.
      shown.throwIfGivenUp?.();
      known = await unlessGone(() => ports.machineConfigNodes.read(name));
    }
  }
}

/** Changed, or deleted with its Node: the next check of the Node decides. */
function isOvertaken(error: unknown): boolean {
  return ['Conflict', 'ObjectNotFound'].includes(failureName(error) ?? '');
}

/** Where creating it failed, the kind itself is missing, as while its CRD is replaced. */
function orNotServed(name: string, error: unknown): unknown {
  if (failureName(error) !== 'ObjectNotFound') return error;
  const message = `write machineconfignode ${name}: ${messageOf(error)}; is its CustomResourceDefinition there?`;
  return fail('ApiUnavailable', message);
}

async function showOver(
  known: MachineConfigNode | undefined,
  ports: Ports,
  shown: ShownPhase,
): Promise<void> {
  const { name, uid = '' } = shown.node.metadata;
  shown.throwIfGivenUp?.();
  const desired = shown.desired ?? shown.config;
  const spec = specOf(name, shown.pool, desired);
  if (shown.mayBeLate === true && !isUnderWay(known, spec)) return;
  const current =
    known !== undefined && isSameSpec(known.spec, spec)
      ? known
      : await ports.machineConfigNodes.applySpec(
          { name, uid },
          spec,
          known?.metadata.resourceVersion,
        );
  const previous = current.status?.conditions ?? known?.status?.conditions;
  const onConfig = currentConfigOf(shown.node);
  const isAtRest = isDone(shown.node) && onConfig === desired;
  const conditions = mcnConditions(shown.phase, previous, {
    config: shown.config,
    now: rfc3339(ports.now()),
    ...(isAtRest && onConfig !== undefined ? { restsOn: onConfig } : {}),
    ...(shown.message === undefined ? {} : { message: shortened(shown.message) }),
    ...(shown.failure === undefined ? {} : { failure: shown.failure }),
    ...(shown.done === undefined ? {} : { done: shown.done }),
  });
  const configVersion = { desired, ...(onConfig === undefined ? {} : { current: onConfig }) };
  if (isShown(current, conditions, configVersion)) return;
  shown.throwIfGivenUp?.();
  await ports.machineConfigNodes.applyStatus(
    name,
    { observedGeneration: current.metadata.generation ?? 1, configVersion, conditions },
    current.metadata.resourceVersion,
  );
}

function isUnderWay(
  known: MachineConfigNode | undefined,
  spec: MachineConfigNode['spec'],
): boolean {
  if (known === undefined || !isSameSpec(known.spec, spec)) return false;
  return !(known.status?.conditions ?? []).some(
    ({ type, status }) => ENDS.includes(type) && status === 'True',
  );
}

function specOf(node: string, pool: string, desired: string): MachineConfigNode['spec'] {
  return { node: { name: node }, pool: { name: pool }, configVersion: { desired } };
}

function isSameSpec(a: MachineConfigNode['spec'], b: MachineConfigNode['spec']): boolean {
  return (
    a.node.name === b.node.name &&
    a.pool.name === b.pool.name &&
    a.configVersion.desired === b.configVersion.desired
  );
}

function isShown(
  known: MachineConfigNode,
  conditions: readonly Condition[],
  configVersion: { readonly desired: string; readonly current?: string },
): boolean {
  const status = known.status;
  if (status?.configVersion?.desired !== configVersion.desired) return false;
  if (status.configVersion.current !== configVersion.current) return false;
  const before = new Map(ownConditions(status.conditions ?? []).map((one) => [one.type, one]));
  return (
    before.size === conditions.length &&
    conditions.every((wanted) => {
      const one = before.get(wanted.type);
      return (
        one?.status === wanted.status &&
        one.reason === wanted.reason &&
        one.message === wanted.message
      );
    })
  );
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_LENGTH ? message : `${cut(message, MAX_MESSAGE_LENGTH)}…`;
}
