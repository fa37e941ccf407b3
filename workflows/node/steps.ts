/** The step of each state of an update. */

import { log } from '@temporalio/workflow';
import { sentence } from '../../core/errors';
import type { PhaseSeconds } from '../../core/history/record';
import type {
  Answers,
  Back,
  CancelReason,
  FoundCordon,
  StateOf,
  UpdateState,
  Working,
} from '../../core/node/update-states';
import { SILENT_KUBELET_SECONDS } from '../contracts/timeouts';
import type { NodeUpdateInput } from '../contracts/update';
import { clusterSteps, type ClusterSteps } from './cluster-steps';
import { hostSteps, type HostSteps } from './host-steps';

/** Called when the Node is given back, and the step goes on. */
type GivenBack = () => void;
type Take<K extends Working> = (state: StateOf<K>, givenBack: GivenBack) => Promise<Answers[K]>;

export interface UpdateSteps {
  readonly take: (state: StateOf<Working>, givenBack: GivenBack) => Promise<Answers[Working]>;
  /** Shows on the MachineConfigNode what no step shows by itself. */
  readonly turned: (before: UpdateState, now: UpdateState) => void;
  readonly whyCancelled: () => Promise<CancelReason>;
}

export function stepsOf(input: NodeUpdateInput, seconds: () => PhaseSeconds): UpdateSteps {
  const cluster = clusterSteps(input, seconds);
  const table = tableOf(input, hostSteps(input), cluster);
  return {
    take: (state, givenBack) => (table[state.is] as Take<Working>)(state, givenBack),
    turned: (before, now) => {
      if (beginsGoingBack(before, now)) cluster.showGoingBack(now.back.cause);
      if (before.is === 'arming' && now.is === 'proving') cluster.showRebooting(now.prepared.plan);
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
    proving: ({ rebootedFrom }) => host.verify(rebootedFrom),
    returning: ({ prepared, bootId }) => cluster.awaitReady(bootId, readySeconds, prepared.plan),
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
    releasing: ({ release, drops, back: { phase } }, givenBack) =>
      Promise.all([
        cluster.release(release, phase).then(givenBack, (error: unknown) => {
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
