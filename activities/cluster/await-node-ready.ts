import { fail } from '../../core/errors';
import { unreadyCondition } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import { isSameNode } from '../../core/rollout';
import type { AwaitReadyInput, ClusterActivities } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { orDeleted, refuseAnotherNode } from './known-node';
import { Wakeups } from './wakeups';

const HEARTBEAT_MS = 5_000;

/**
 * Waits on the watch until the node has been Ready, on the expected boot, for long enough without a
 * break. Reads only, so running twice only starts the count again.
 */
export function createAwaitNodeReady(ports: ClusterPorts): ClusterActivities['awaitNodeReady'] {
  return async (input) => {
    const run = ports.run();
    const deadline = run.scheduledAtMs + input.timeoutSeconds * 1000;
    const wakeups = new Wakeups(run.signal);
    const unsubscribe = ports.view.nodes.subscribe(({ object }) => {
      if (object.metadata.name === input.node) wakeups.ring();
    });
    let readySince: number | undefined;
    let shown: string | undefined;
    try {
      for (;;) {
        const now = run.temporalNow();
        const node = ports.view.nodes.get(input.node);
        if (node === undefined || !isSameNode(node, input.uid)) await refuseDeleted(ports, input);
        const blocker = blockerOf(node, input);
        if (blocker === undefined) {
          readySince ??= now;
          if (now - readySince >= input.readySeconds * 1000) return;
        } else {
          readySince = undefined;
          if (now >= deadline) throw notReady(input, blocker);
          if (blocker !== shown) run.log.info('waiting for node', { node: input.node, blocker });
          shown = blocker;
        }
        run.heartbeat({ blocker: blocker ?? 'Ready, watching that it stays so' });
        const dueMs =
          readySince === undefined ? deadline - now : readySince + input.readySeconds * 1000 - now;
        await wakeups.wait(Math.min(HEARTBEAT_MS, dueMs));
      }
    } finally {
      unsubscribe();
      wakeups.close();
    }
  };
}

/** The picture may be behind, so the server is asked. @throws `NodeDeleted` */
async function refuseDeleted(ports: ClusterPorts, input: AwaitReadyInput): Promise<void> {
  refuseAnotherNode(await orDeleted(input.node, () => ports.nodes.read(input.node)), input);
}

/** What is still missing, in words; a cordon does not count, since it is our own. */
function blockerOf(node: Node | undefined, input: AwaitReadyInput): string | undefined {
  if (node === undefined) return `the Node object ${input.node} does not exist`;
  const bootId = node.status?.nodeInfo?.bootID;
  if (input.bootId !== undefined && bootId !== input.bootId) {
    return `the kubelet reports boot ${bootId ?? 'none'}, not yet ${input.bootId}`;
  }
  const condition = unreadyCondition(node);
  if (condition === undefined) return undefined;
  const why = [condition.reason, condition.message].filter(Boolean).join(': ');
  return `condition ${condition.type} is ${condition.status}${why === '' ? '' : ` (${why})`}`;
}

function notReady(input: AwaitReadyInput, blocker: string): Error {
  return fail(
    'NodeNotReady',
    `node ${input.node} was not Ready within ${input.timeoutSeconds} s: ${blocker}`,
    { node: input.node, blocker },
  );
}
