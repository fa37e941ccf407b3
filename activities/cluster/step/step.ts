import { isDeepStrictEqual } from 'node:util';
import { failureName } from '../../../core/errors';
import type { MachineConfigPool } from '../../../core/pool/types';
import { decide, type Decision } from '../../../core/rollout/decide';
import type { OpenUpdates } from '../../../core/rollout/picture';
import type { PoolRollout } from '../../../core/rollout/pool-rollout';
import type { StepInput, StepResult } from '../../../workflows/contracts/rollout';
import type { PoolRolloutStore } from '../ports';
import { Actions } from './actions';
import { Look, type SeenPool } from './look';
import type { StepPorts } from './ports';
import { RequestSaver } from './request-saver';
import { resultOf, withoutPool } from './result';

/** Each is against a step of another worker that has just succeeded. */
const CONFLICTS_AT_MOST = 20;

/**
 * One step of a rollout: looks at the pool, decides, writes the PoolRollout, and acts. It remembers nothing, so any
 * number of workers may step at once: whoever decided from an older PoolRollout loses the write and begins again. Acts
 * follow the write, and are decided again by each step until they hold.
 *
 * @throws `WatchBehind`, `ApiUnavailable`, `TemporalUnavailable`, `Conflict`
 */
export function createStep(ports: StepPorts): (input: StepInput) => Promise<StepResult> {
  const saver = new RequestSaver(ports);
  const looks = new Look(ports);
  const actions = new Actions(ports, saver);
  return async (input) => {
    const seen = await looks.at(input);
    if (seen.pool === undefined) return withoutPool(ports, saver, seen, input.pool);
    const { pool } = seen;
    const open = await saver.openUpdates(input.pool);
    const running = new Set(open.updates.map(({ node }) => node));
    const { decision, isWritten } = await untilWritten(async () => {
      const rollout = await readOrCreate(ports.poolRollouts, pool);
      const decided = await decideOn(saver, { ...seen, pool }, rollout, open);
      return { decision: decided, isWritten: await write(ports, saver, rollout, decided) };
    });
    const isFinished = await actions.follow(decision, running, { ...seen, pool });
    return resultOf(decision, seen, isWritten && isFinished);
  };
}

/** A PoolRollout that another worker has written meanwhile, or a person has deleted, is read and decided on anew. */
async function untilWritten<T>(attempt: () => Promise<T>): Promise<T> {
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isOvertaken = ['Conflict', 'ObjectNotFound'].includes(failureName(error) ?? '');
      if (!isOvertaken || conflicts >= CONFLICTS_AT_MOST) throw error;
    }
  }
}

/** One of an earlier pool of the same name says nothing about this one. */
async function readOrCreate(
  store: PoolRolloutStore,
  { metadata: { name, uid = '' } }: MachineConfigPool,
): Promise<PoolRollout> {
  const known = await store.read(name);
  const isOurs = known?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
  if (known !== undefined && isOurs) return known;
  if (known !== undefined) await store.delete(known);
  return store.create({ name, uid });
}

/** Decides, and once more with what Temporal says about runs that are in doubt. */
async function decideOn(
  saver: RequestSaver,
  { observation }: SeenPool,
  rollout: PoolRollout,
  open: OpenUpdates,
): Promise<Decision> {
  const before = rollout.status === undefined ? {} : { before: rollout.status };
  const observed = { ...observation, ...before, open };
  const decision = decide({ ...observed, closed: new Set() });
  const closed = await saver.closedOf(decision.inDoubt);
  return closed.size === 0 ? decision : decide({ ...observed, closed });
}

/** Grants at once; what only counts is not written more than once a second. */
async function write(
  { poolRollouts }: StepPorts,
  saver: RequestSaver,
  rollout: PoolRollout,
  { status, grantsChanged }: Decision,
): Promise<boolean> {
  if (isDeepStrictEqual(rollout.status, status)) return true;
  if (!grantsChanged && !saver.mayWriteCounts(rollout.metadata.name)) return false;
  await poolRollouts.writeStatus(rollout, status);
  saver.hasWritten(rollout.metadata.name);
  return true;
}
