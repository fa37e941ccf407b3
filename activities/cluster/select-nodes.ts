import { readDisruptionPolicy } from '../../core/disruption';
import { failureName } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import {
  controlPlaneOf,
  observePool,
  resolvePolicy,
  selectFrom,
  type Candidate,
} from '../../core/rollout';
import type { ClusterActivities, SelectNodesResult } from '../../workflows/contracts/cluster';
import type { ConfigReference } from '../../workflows/contracts/host';
import { versionsOf } from '../../workflows/picture-age';
import type { ClusterPorts } from './ports';
import { ConfigDigests } from './config-digests';
import { movesOf } from './pool-moves';
import { membershipOf } from './pool-members';
import { SilentPicture } from './silent-picture';
import { whenAsNew, whenSynced } from './when-synced';

/** MCO's name for the one MachineConfiguration of a cluster. */
const MACHINE_CONFIGURATION = 'cluster';

/**
 * Reads a pool from the cache; `core/rollout` decides. Requests: one GET per unknown rendered
 * config and per node that seems to have left, and one LIST of nodes when their watch is silent and
 * behind.
 */
export function createSelectNodes(ports: ClusterPorts): ClusterActivities['selectNodes'] {
  const digests = new ConfigDigests(ports.configs);
  const membersOf = membershipOf(ports);
  const picture = new SilentPicture(ports);

  return async (input): Promise<SelectNodesResult> => {
    const { view } = ports;
    await whenSynced(Object.values(view));
    if (input.asNewAs !== undefined) {
      await whenAsNew(view, input.asNewAs, () => picture.bringUpToDate());
    }
    const versions = versionsOf(view);
    const { remembered = [] } = input;
    const { departed, returned } = await movesOf(ports, input.pool, remembered);
    const left = departed.length === 0 ? {} : { departed };
    const back = returned.length === 0 ? {} : { returned };
    const pool = view.pools.get(input.pool);
    if (pool === undefined) return { exists: false, ...left };
    const seen = observePool({
      pool,
      nodes: membersOf(pool),
      controlPlane: controlPlaneOf(view.nodes.list()),
      machineConfigNodes: view.machineConfigNodes.list(),
      retry: input.retry,
      ...(input.inService === undefined ? {} : { inService: input.inService }),
    });
    const config = await targetOf(ports, digests, pool.metadata.name, seen.target);
    // An unreadable config cannot be ordered: treated as not rendered yet.
    const limit = config === undefined ? 0 : input.limit;
    const { inFlight, retry, asked, waiting } = input;
    const policy = resolvePolicy(view.policies.get(input.pool)?.spec);
    const selected = selectFrom(seen, {
      ...{ inFlight, retry, limit, remembered, canaryNodes: policy.canaryNodes },
      ...(asked === undefined ? {} : { asked }),
      ...(waiting === undefined ? {} : { waiting }),
    });
    const { annotations } = pool.metadata;
    const cancelledConfig = annotations?.[ANNOTATION.ROLLOUT_CANCELLED];
    const startedConfig = annotations?.[ANNOTATION.ROLLOUT_STARTED];
    const user = view.machineConfigurations.get(MACHINE_CONFIGURATION)?.spec?.nodeDisruptionPolicy;
    return {
      exists: true,
      ...selected,
      versions,
      ...(config === undefined ? {} : { config }),
      policy,
      disruptionPolicies: readDisruptionPolicy(user),
      ...(cancelledConfig === undefined ? {} : { cancelledConfig }),
      ...(startedConfig === undefined ? {} : { startedConfig }),
      ...left,
      ...back,
      digests: await digestsOf(ports, digests, selected.candidates),
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

/** Digests of the current configs; a deleted config has none. */
async function digestsOf(
  ports: ClusterPorts,
  digests: ConfigDigests,
  candidates: readonly Candidate[],
): Promise<Readonly<Record<string, string>>> {
  const known: Record<string, string> = {};
  for (const name of new Set(candidates.flatMap(({ currentConfig }) => currentConfig ?? []))) {
    try {
      known[name] = (await digests.reference(name)).digest;
    } catch (error) {
      if (failureName(error) !== 'ObjectNotFound') throw error;
      ports.run().log.debug('current config of a node does not exist any more', { config: name });
    }
  }
  return known;
}
