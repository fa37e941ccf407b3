import { MACHINE_CONFIG_POOLS, MACHINE_CONFIGS } from '../../../adapters/kube/resources';
import { fencedWriter } from '../../../controllers/fenced-writer';
import { aPool, aRendered } from './objects';

function aFixture() {
  const sent: string[] = [];
  const absorbed: string[] = [];
  const leading = new AbortController();
  const answer = (what: string) => async () => {
    sent.push(what);
    return aPool() as never;
  };
  const client = {
    create: answer('create'),
    apply: answer('apply'),
    patch: answer('patch'),
    delete: answer('delete'),
  };
  const writer = fencedWriter(client, (_resource, { metadata }) => absorbed.push(metadata.name), {
    throwIfOver: () => {
      leading.signal.throwIfAborted();
    },
  });
  const writes: readonly [string, () => Promise<unknown>][] = [
    ['create', () => writer.create(MACHINE_CONFIGS, aRendered('r'), 'm')],
    [
      'apply',
      () => writer.apply(MACHINE_CONFIG_POOLS, { metadata: { name: 'worker' } }, { manager: 'm' }),
    ],
    ['patch', () => writer.patch(MACHINE_CONFIGS, { name: 'r' }, {}, { manager: 'm' })],
    ['delete', () => writer.delete(MACHINE_CONFIGS, aRendered('r'))],
  ];
  return { sent, absorbed, leading, writes };
}

it('sends every write while the lease is held, and takes the replies over', async () => {
  const { sent, absorbed, writes } = aFixture();

  for (const [, write] of writes) await write();

  expect(sent).toEqual(['create', 'apply', 'patch', 'delete']);
  expect(absorbed).toEqual(['worker', 'worker', 'worker']);
});

it('sends nothing any more once the lease is lost, and says why', async () => {
  const { sent, leading, writes } = aFixture();

  leading.abort(new Error('lost the lease: thief holds it'));

  for (const [, write] of writes) await expect(write()).rejects.toThrow('thief holds it');
  expect(sent).toEqual([]);
});
