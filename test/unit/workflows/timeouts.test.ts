import { resolvePolicy } from '../../../core/rollout';
import { clusterLimits, commitWithinSeconds } from '../../../workflows/contracts/timeouts';

it('gives up no step of an updated node for an outage of the API server that its end survives', () => {
  const policy = resolvePolicy(undefined);
  const { awaitReturn, completeNode } = clusterLimits(policy);

  const ownSeconds = policy.readySeconds + policy.reconnectSeconds;
  expect(awaitReturn.total - ownSeconds).toBeGreaterThanOrEqual(completeNode.total);
  expect(awaitReturn.attempt).toBeGreaterThan(ownSeconds);
});

it('gives a node that is Ready at the end of its time all of readySeconds, in one attempt and before its host decides', () => {
  const policy = resolvePolicy({ verify: { readySeconds: 3_600, reconnectSeconds: 600 } });
  const latest = 3_600 + 600 + 3_600;

  expect(clusterLimits(policy).awaitReturn.attempt).toBeGreaterThan(latest);
  expect(commitWithinSeconds(policy)).toBeGreaterThan(latest);
});
