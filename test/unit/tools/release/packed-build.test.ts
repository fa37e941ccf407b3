import { compareVersions, movedAway } from '../../../../tools/release/packed-build';

test('versions are ordered by their numbers, not by their letters', () => {
  expect(['0.10.0', '1.0.0', '0.9.1', '0.9.0'].sort(compareVersions)).toEqual([
    '0.9.0',
    '0.9.1',
    '0.10.0',
    '1.0.0',
  ]);
});

test('a build can run with later packages of the same major versions', () => {
  expect(movedAway({ '@temporalio/worker': '1.24.0' }, { '@temporalio/worker': '1.30.2' })).toEqual(
    [],
  );
});

test('packages that have moved away are named, with both versions', () => {
  const then = { '@temporalio/worker': '1.24.0', fastify: '5.12.8', yaml: '2.9.1' };

  expect(movedAway(then, { '@temporalio/worker': '2.0.0', yaml: '2.9.1' })).toEqual([
    '@temporalio/worker was 1.24.0 and is 2.0.0',
    'fastify was 5.12.8 and is not there',
  ]);
});
