import { isRenderedNameOf } from '../../../core/names';

it.each([
  ['worker', 'rendered-worker-0123456789abcdef0123456789abcdef', true],
  ['worker', 'rendered-worker-1', true],
  ['infra-a', 'rendered-infra-a-1', true],
  ['infra', 'rendered-infra-a-b-1', false],
  ['worker', 'rendered-master-1', false],
  ['worker', 'rendered-worker-', false],
  ['worker', 'rendered-worker-xyz', false],
  ['worker', 'banana', false],
  ['worker', '', false],
])('in pool %s, %j is the name of a rendered config: %s', (pool, name, expected) => {
  expect(isRenderedNameOf(pool, name)).toBe(expected);
});
