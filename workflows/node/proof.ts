/** 6. The host proves that it is on its config, and its node is Ready again: side by side, for both take their time. */

import { CancellationScope } from '@temporalio/workflow';
import type { NodePhase } from '../../core/node/lifecycle';
import type { ReturnedNode } from '../contracts/cluster';
import type { VerifiedHost } from '../contracts/host';
import type { NodeUpdate } from './update';

interface Both {
  readonly phase: NodePhase;
  /** What is waited for first. */
  readonly blocker: string;
  readonly prove: () => Promise<VerifiedHost>;
  readonly comeBack: () => Promise<ReturnedNode>;
}

/** @throws the first failure of both, which ends the other */
export async function proveAndReturn(update: NodeUpdate, both: Both): Promise<void> {
  const { progress, cluster, input } = update;
  progress.enter(both.phase, both.blocker);
  let isReadyFirst: boolean | undefined;
  const proven = async (): Promise<VerifiedHost> => {
    const proof = await both.prove();
    if (isReadyFirst === undefined) progress.enter('Verifying', 'the node to be Ready');
    isReadyFirst ??= false;
    return proof;
  };
  const returned = async (): Promise<ReturnedNode> => {
    const node = await both.comeBack();
    if (isReadyFirst === undefined) progress.enter('Verifying', 'the host to verify what it has');
    isReadyFirst ??= true;
    return node;
  };
  const [proof, node] = await togetherOrNone([proven, returned]);
  const isSameBoot = node.bootId === proof.bootId;
  if (isSameBoot && !isReadyFirst) return;
  // It may have fallen over before the proof, or its machine has booted once more.
  const { readySeconds } = input.policy;
  const again = () => cluster.awaitReady(proof.bootId, isSameBoot ? 0 : readySeconds);
  await progress.during('Verifying', again, 'the node to be Ready once more');
}

/** The first that fails ends the others. */
function togetherOrNone<A, B>(
  works: readonly [() => Promise<A>, () => Promise<B>],
): Promise<[A, B]> {
  return CancellationScope.cancellable(async () => {
    const [one, other] = works;
    try {
      return await Promise.all([one(), other()]);
    } catch (error) {
      CancellationScope.current().cancel();
      throw error;
    }
  });
}
