import { resolvePolicy } from '../../../core/rollout';
import { clusterLimits } from '../../../workflows/contracts/timeouts';

it('gives up no step of an updated node for an outage of the API server that its end survives', () => {
  const policy = resolvePolicy(undefined);
  const { awaitReturn, completeNode } = clusterLimits(policy);

  const ownSeconds = policy.readySeconds + policy.reconnectSeconds;
  expect(awaitReturn.total - ownSeconds).toBeGreaterThanOrEqual(completeNode.total);
  expect(awaitReturn.attempt).toBeGreaterThan(ownSeconds);
});
