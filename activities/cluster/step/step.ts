import { isDeepStrictEqual } from 'node:util';
import { failureName } from '../../../core/errors';
import type { MachineConfigPool } from '../../../core/pool/types';
import { decide, type Decision } from '../../../core/rollout/decide';
import type { OpenUpdates } from '../../../core/rollout/picture';
import type { PoolRollout } from '../../../core/rollout/pool-rollout';
import type { StepInput, StepResult } from '../../../workflows/contracts/rollout';
import type { PoolRolloutStore } from '../ports';
import { tellGranted } from '../tell';
import { Actions } from './actions';
import { keepHistory } from './keep-history';
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
    const { seen, written } = await untilWritten(() =>
      decideAndWrite(ports, { saver, looks }, input),
    );
    if (written === undefined) return withoutPool(ports, saver, seen, input.pool);
    const { pool, decision, open, isWritten, before } = written;
    const isFinished = await actions.follow(decision, open.updates, { ...seen, pool });
    await keepHistory(ports, pool, { decision, before, now: seen.observation.now });
    if (isWritten) tellGranted(ports, pool, decision.granted, decision.status.config ?? '');
    return resultOf(decision, seen, isWritten && isFinished);
  };
}

/**
 * The PoolRollout is read before everything else: whoever stands still after that, and has an old picture of the
 * cluster, loses the write if anybody has stepped meanwhile.
 *
 * @returns `written` is absent where there is no such pool
 */
async function decideAndWrite(
  ports: StepPorts,
  { saver, looks }: { readonly saver: RequestSaver; readonly looks: Look },
  input: StepInput,
) {
  const { poolRollouts } = ports;
  const known = await poolRollouts.read(input.pool);
  const seen = await looks.at(input);
  const { pool } = seen;
  if (pool === undefined) return { seen };
  const open = await saver.openUpdates(input.pool);
  const rollout = await ofThisPool(poolRollouts, known, pool);
  const decision = await decideOn(saver, { ...seen, pool }, rollout, open, input);
  const isWritten = await write(ports, saver, rollout, decision);
  return { seen, written: { pool, open, decision, isWritten, before: rollout.status } };
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

/** There is none yet, or it is of an earlier pool of the same name, and says nothing about this one. */
async function ofThisPool(
  store: PoolRolloutStore,
  known: PoolRollout | undefined,
  { metadata: { name, uid = '' } }: MachineConfigPool,
): Promise<PoolRollout> {
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
  { isCancelled }: StepInput,
): Promise<Decision> {
  const before = rollout.status === undefined ? {} : { before: rollout.status };
  const cancelled = isCancelled === undefined ? {} : { isCancelled };
  const observed = { ...observation, ...before, ...cancelled, open };
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
