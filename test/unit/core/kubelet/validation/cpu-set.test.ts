import { parseCpuSet } from '../../../../../core/kubelet/validation/cpu-set';

it.each([
  ['', 0],
  ['0', 1],
  ['0-3,8', 5],
  ['1,1,0-1', 2],
  ['+1', 1],
])('counts the CPUs of %j', (text, size) => {
  expect(parseCpuSet(text)).toEqual({ size });
});
