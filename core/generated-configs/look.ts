/** One look at all objects of a kind, in the order of their creation. */

import { LABEL } from '../names';
import { takesRole } from '../pool/roles';
import type { MachineConfigPool } from '../pool/types';
import { inOrderOfCreation } from './order-of-creation';
import { Stage } from './stage';
import { planRefusal, planRemoval, planSync, type Generated, type Write } from './sync';
import type { Origin, OriginKind, OriginPicture } from './types';

export interface GeneratedObject {
  readonly origin: Origin;
  readonly writes: readonly Write[];
  /** Why its pools keep what they have. */
  readonly problem?: string;
  /** What to say on it when the API server refuses one of the writes; none when it says so. */
  readonly refusedBy: (apiServer: string) => readonly Write[];
}

/** What one object is found to ask for. */
interface Judged<S> {
  /** Why it is refused, whatever the pools. */
  readonly refusal: string | undefined;
  readonly generate: (pool: MachineConfigPool) => Generated;
  /** What else there is to say; `generate` may add to it. */
  readonly says: S;
}

interface Judge<S> {
  readonly judge: (origin: Origin) => Judged<S>;
  /** Of an object that is being deleted. */
  readonly saysNothing: S;
}

export function lookAtOrigins<S extends object>(
  kind: OriginKind,
  { origins, machineConfigs, pools, version, now }: OriginPicture,
  { judge, saysNothing }: Judge<S>,
): readonly (GeneratedObject & S)[] {
  const stage = new Stage(origins, machineConfigs.list());
  return inOrderOfCreation(origins).map((origin) => {
    const refusedBy = (says: string) => planRefusal(kind, origin, { says, now });
    if (origin.metadata.deletionTimestamp !== undefined) {
      const writes = stage.played(origin, planRemoval(kind, origin, stage.configs));
      return { origin, writes, refusedBy, ...saysNothing };
    }
    const { refusal, generate, says } = judge(origin);
    const { writes, ...problem } = planSync({
      ...{ kind, origin, origins: stage.origins, configs: stage.configs, pools, version, now },
      refusal,
      generate: (pool) => (takesRole(pool, pool.metadata.name) ? generate(pool) : unselected(pool)),
      defects: 'corrected',
    });
    return { origin, writes: stage.played(origin, writes), refusedBy, ...problem, ...says };
  });
}

/** MCO reports success. */
function unselected({ metadata: { name } }: MachineConfigPool): Generated {
  return {
    problem:
      `pool ${name} does not select MachineConfigs with the label ${LABEL.ROLE}: ${name}, so it would get ` +
      `nothing of this; add ${name} to its spec.machineConfigSelector, or select another pool`,
  };
}
