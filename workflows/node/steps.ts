/** The step of each state of an update. */

import { CancellationScope, log } from '@temporalio/workflow';
import { sentence } from '../../core/errors';
import type { PhaseSeconds } from '../../core/history/record';
import type {
  Answers,
  Back,
  CancelReason,
  FoundCordon,
  Half,
  StateOf,
  UpdateState,
  Working,
} from '../../core/node/update-states';
import { SILENT_KUBELET_SECONDS } from '../contracts/timeouts';
import type { NodeUpdateInput } from '../contracts/update';
import { clusterSteps, type ClusterSteps } from './cluster-steps';
import { hostSteps, type HostSteps } from './host-steps';

/** Called when one half of a step has ended. */
type Tell = (half: Half) => void;
type Take<K extends Working> = (state: StateOf<K>, tell: Tell) => Promise<Answers[K]>;

export interface UpdateSteps {
  readonly take: (state: StateOf<Working>, tell: Tell) => Promise<Answers[Working]>;
  /** Shows on the MachineConfigNode what no step shows by itself. */
  readonly turned: (before: UpdateState, now: UpdateState) => void;
  readonly whyCancelled: () => Promise<CancelReason>;
}

export function stepsOf(input: NodeUpdateInput, seconds: () => PhaseSeconds): UpdateSteps {
  const cluster = clusterSteps(input, seconds);
  const table = tableOf(input, hostSteps(input), cluster);
  return {
    take: (state, tell) => (table[state.is] as Take<Working>)(state, tell),
    turned: (before, now) => {
      if (beginsGoingBack(before, now)) cluster.showGoingBack(now.back.cause);
      if (HIDES.includes(now.is)) cluster.hideShown();
    },
    whyCancelled: cluster.whyCancelled,
  };
}

/** From here on, an old phase must not be written over the end. */
const HIDES: readonly UpdateState['is'][] = ['completing', 'releasing', 'ended'];

function beginsGoingBack(
  before: UpdateState,
  now: UpdateState,
): now is Extract<UpdateState, { readonly back: Back }> {
  return 'back' in now && !('back' in before) && now.is !== 'releasing' && now.is !== 'settling';
}

function tableOf(
  { policy }: NodeUpdateInput,
  host: HostSteps,
  cluster: ClusterSteps,
): { readonly [K in Working]: Take<K> } {
  const { readySeconds } = policy;
  /** What keeps a host from answering may have ended its kubelet, too, and its node is Ready for a minute more. */
  const staysReady = () =>
    cluster.awaitReady(undefined, Math.max(readySeconds, SILENT_KUBELET_SECONDS));
  return {
    // Nothing is disturbed before everything that can be checked or downloaded is.
    preparing: () => host.prepare(),
    waiting: ({ prepared }) => cluster.takeOut(prepared.plan),
    draining: ({ prepared }) => cluster.drain(prepared.plan),
    applying: () => host.apply(),
    looking: ({ prepared }) => cluster.checkCordon(prepared.plan),
    arming: () => host.armReboot(),
    acting: () => host.performServiceActions(),
    proving: async ({ prepared, rebootedFrom }, tell) => {
      const proof = halfOf('proof', tell, () => host.verify(rebootedFrom));
      const [{ bootId }, node] = await (rebootedFrom === undefined
        ? sideBySide(
            proof,
            halfOf('node', tell, () => cluster.awaitReady(undefined, readySeconds, prepared.plan)),
          )
        : // A machine that has proven its boot is back: its Node has the usual time to say so, not that of a reboot.
          untilFirst(
            proof,
            halfOf('node', tell, () => cluster.awaitReturn(prepared.plan, rebootedFrom)),
          ));
      return { bootId, ...(node?.bootId === undefined ? {} : { readyIn: node.bootId }) };
    },
    readyOnceMore: ({ prepared, bootId, isOtherBoot }) =>
      isOtherBoot
        ? cluster.awaitReady(bootId, readySeconds, prepared.plan)
        : cluster.awaitReady(bootId, 0),
    // Until then the machine goes back by itself if it reaches nobody.
    committing: () => host.commit(),
    provingAgain: ({ times }) => host.verifyAgain(times),
    readyAgain: staysReady,
    // Retried for a day.
    completing: () => cluster.complete(),

    asking: () => host.hasCommitted(),
    readyAfterAll: staysReady,
    lookingBack: () => lookBack(cluster),
    cordoningAgain: () => cluster.cordonAgain(),
    drainingAgain: () => cluster.drainAgain(),
    // Until its Node says so, the host alone knows of a failure if this update is lost.
    undoing: ({ back: { cause } }) => {
      return host.goBack(cause.outcome === 'failed' ? sentence(cause.failure) : undefined);
    },
    provingBack: ({ rebootedFrom }) => host.verifyBack(rebootedFrom),
    readyBack: ({ bootId }) => cluster.awaitReady(bootId, bootId === undefined ? 0 : readySeconds),
    settling: ({ how }) => (how === 'undo' ? host.undoTakenOver() : host.discardStaged()),
    releasing: ({ release, drops, back: { phase } }, tell) =>
      Promise.all([
        halfOf('release', tell, () => cluster.release(release, phase))().catch((error: unknown) => {
          log.error('the node was not released', { error });
        }),
        drops ? drop(host) : undefined,
      ]),
  };
}

async function lookBack(cluster: ClusterSteps): Promise<FoundCordon> {
  const { isEmpty } = await cluster.checkCordonBack();
  return isEmpty ? 'ours' : 'ours, and pods';
}

async function drop(host: HostSteps): Promise<void> {
  try {
    await host.discardStaged();
  } catch (error) {
    log.warn('what was staged stays on the host', { error });
  }
}

function halfOf<T>(half: Half, tell: Tell, work: () => Promise<T>): () => Promise<T> {
  return async () => {
    const answer = await work();
    tell(half);
    return answer;
  };
}

/**
 * Ends with the first, and ends the other then, if it is still under way.
 *
 * @returns undefined for that
 * @throws the first failure of both, which ends the other
 */
function untilFirst<A, B>(
  first: () => Promise<A>,
  other: () => Promise<B>,
): Promise<[A, B | undefined]> {
  return CancellationScope.cancellable(async () => {
    let answer: B | undefined;
    const failing = new Promise<never>((_resolve, reject) => {
      other().then((given) => (answer = given), reject);
    });
    try {
      return [await Promise.race([first(), failing]), answer];
    } finally {
      CancellationScope.current().cancel();
    }
  });
}

/** @throws the first failure of both, which ends the other */
function sideBySide<A, B>(one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  return CancellationScope.cancellable(async () => {
    try {
      return await Promise.all([one(), other()]);
    } catch (error) {
      CancellationScope.current().cancel();
      throw error;
    }
  });
}
