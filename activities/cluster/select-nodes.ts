import { failureName } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { assignNodes } from '../../core/pool/membership';
import { ANNOTATION } from '../../core/names';
import type { MachineConfigPool } from '../../core/pool/types';
import { observePool, resolvePolicy, selectFrom } from '../../core/rollout';
import type {
  Candidate,
  ClusterActivities,
  ConfigReference,
  SelectNodesResult,
} from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { ConfigDigests } from './config-digests';
import { readDisruptionPolicy } from './disruption-policy';
import { whenSynced } from './when-synced';

/** Where MCO keeps it: the one MachineConfiguration of a cluster. */
const MACHINE_CONFIGURATION = 'cluster';

/**
 * One look at a pool, from memory; decided in `core/rollout`. The only requests are one GET per
 * rendered config that was never seen, for its digest.
 */
export function createSelectNodes(ports: ClusterPorts): ClusterActivities['selectNodes'] {
  const digests = new ConfigDigests(ports.configs);
  const membersOf = membershipOf(ports);

  return async (input): Promise<SelectNodesResult> => {
    const { view } = ports;
    await whenSynced(Object.values(view));
    const pool = view.pools.get(input.pool);
    if (pool === undefined) return { exists: false };
    const seen = observePool({
      pool,
      nodes: membersOf(pool),
      machineConfigNodes: view.machineConfigNodes.list(),
      retry: input.retry,
      ...(input.inService === undefined ? {} : { inService: input.inService }),
    });
    const config = await targetOf(ports, digests, pool.metadata.name, seen.target);
    // A config that cannot be read cannot be ordered either: as if it were not rendered yet.
    const limit = config === undefined ? 0 : input.limit;
    const selected = selectFrom(seen, { inFlight: input.inFlight, limit });
    const { candidates, ...counts } = selected;
    const cancelledConfig = pool.metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED];
    const user = view.machineConfigurations.get(MACHINE_CONFIGURATION)?.spec?.nodeDisruptionPolicy;
    return {
      exists: true,
      ...(config === undefined ? {} : { config }),
      paused: seen.paused,
      ...(seen.pausedReason === undefined ? {} : { pausedReason: seen.pausedReason }),
      policy: resolvePolicy(view.policies.get(input.pool)?.spec),
      disruptionPolicies: readDisruptionPolicy(user),
      maxUnavailable: seen.maxUnavailable,
      machineCount: seen.machineCount,
      unavailable: seen.unavailable,
      outdated: seen.outdated,
      ...(cancelledConfig === undefined ? {} : { cancelledConfig }),
      ...counts,
      candidates: await Promise.all(
        candidates.map(async ({ node, currentConfig, repair }): Promise<Candidate> => {
          const current = await currentOf(ports, digests, currentConfig);
          return { node, repair, ...(current === undefined ? {} : { currentConfig: current }) };
        }),
      ),
    };
  };
}

async function targetOf(
  ports: ClusterPorts,
  digests: ConfigDigests,
  pool: string,
  name: string | undefined,
): Promise<ConfigReference | undefined> {
  if (name === undefined) return undefined;
  try {
    return await digests.reference(name);
  } catch (error) {
    if (failureName(error) !== 'ObjectNotFound') throw error;
    ports.run().log.warn('rendered config of the pool does not exist', { pool, config: name });
    return undefined;
  }
}

/** A config that is gone is left to the host, which keeps its own record. */
async function currentOf(
  ports: ClusterPorts,
  digests: ConfigDigests,
  name: string | undefined,
): Promise<ConfigReference | undefined> {
  if (name === undefined) return undefined;
  try {
    return await digests.reference(name);
  } catch (error) {
    if (failureName(error) !== 'ObjectNotFound') throw error;
    ports.run().log.debug('current config of a node does not exist any more', { config: name });
    return undefined;
  }
}

/** Members by pool, sorted anew only when a node or a pool has changed. */
function membershipOf(ports: ClusterPorts): (pool: MachineConfigPool) => readonly Node[] {
  let nodes: readonly Node[] | undefined;
  let pools: readonly MachineConfigPool[] | undefined;
  let members: ReadonlyMap<string, readonly Node[]> = new Map();
  return (pool) => {
    if (nodes !== ports.view.nodes.list() || pools !== ports.view.pools.list()) {
      nodes = ports.view.nodes.list();
      pools = ports.view.pools.list();
      members = assignNodes(nodes, pools).members;
    }
    return members.get(pool.metadata.name) ?? [];
  };
}
