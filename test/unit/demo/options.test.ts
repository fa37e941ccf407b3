import { parseDemoOptions } from '../../../demo/options';

test('twelve workers, three at a time, and it ends by itself', () => {
  expect(parseDemoOptions([])).toEqual({
    nodes: 12,
    maxUnavailable: 3,
    keep: false,
    fast: false,
    hosts: false,
  });
});

test('everything that can be said', () => {
  const flags = ['--keep', '--fast', '--hosts'];
  const argv = ['--nodes', '20', '--max-unavailable', '5', ...flags];
  expect(parseDemoOptions(argv)).toEqual({
    nodes: 20,
    maxUnavailable: 5,
    keep: true,
    fast: true,
    hosts: true,
  });
});
