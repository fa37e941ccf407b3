import { followChanges } from '../../../../adapters/kube/watch';
import { anObject, scriptedSource } from './scripted-source';

const log = { debug: jest.fn(), info: jest.fn(), warn: jest.fn(), error: jest.fn() };
const resource = {
  group: 'example.org',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  namespaced: false,
};

it('opens no watch for whoever needs the list alone', async () => {
  const source = scriptedSource({
    lists: [{ version: '10', items: [anObject('a', 5)] }],
    watches: [[]],
  });
  const enough = new AbortController();
  const listed: string[] = [];

  await followChanges(
    source,
    { resource },
    {
      listed: ({ items }) => {
        listed.push(...items.map(({ metadata }) => metadata.name ?? ''));
        enough.abort();
      },
      changed: () => undefined,
    },
    { signal: enough.signal, log },
  );

  expect(listed).toEqual(['a']);
  expect(source.resumedFrom).toEqual([]);
});
