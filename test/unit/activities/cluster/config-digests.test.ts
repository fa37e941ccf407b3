import { createHash } from 'node:crypto';
import { ConfigDigests } from '../../../../activities/cluster/config-digests';
import { fail } from '../../../../core/errors';
import type { MachineConfig } from '../../../../core/machine-config/types';

function reader(answer: (name: string) => Promise<MachineConfig>) {
  const reads: string[] = [];
  return {
    reads,
    read: (name: string) => {
      reads.push(name);
      return answer(name);
    },
  };
}

const aConfig = (name: string): MachineConfig => ({ metadata: { name }, spec: { fips: false } });

it('hashes the canonical bytes, and reads each config once', async () => {
  const configs = reader((name) => Promise.resolve(aConfig(name)));
  const digests = new ConfigDigests(configs);

  const [first, second] = await Promise.all([
    digests.reference('rendered-a'),
    digests.reference('rendered-a'),
  ]);

  const bytes = '{"name":"rendered-a","spec":{"fips":false}}';
  const digest = createHash('sha256').update(bytes).digest('hex');
  expect(first).toEqual({ name: 'rendered-a', digest });
  expect(second).toEqual(first);
  expect(configs.reads).toEqual(['rendered-a']);
});

it('reads again after a failure', async () => {
  let isThere = false;
  const configs = reader((name) =>
    isThere ? Promise.resolve(aConfig(name)) : Promise.reject(fail('ObjectNotFound', 'not yet')),
  );
  const digests = new ConfigDigests(configs);
  await expect(digests.reference('rendered-a')).rejects.toMatchObject({ name: 'ObjectNotFound' });

  isThere = true;

  await expect(digests.reference('rendered-a')).resolves.toMatchObject({ name: 'rendered-a' });
});

it('remembers the last 200 configs only', async () => {
  const configs = reader((name) => Promise.resolve(aConfig(name)));
  const digests = new ConfigDigests(configs);
  await digests.reference('first');
  for (let index = 0; index < 199; index += 1) await digests.reference(`other-${index}`);
  await digests.reference('first');
  await digests.reference('one-more');

  await digests.reference('first');
  await digests.reference('other-0');

  expect(configs.reads.filter((name) => name === 'first')).toHaveLength(1);
  expect(configs.reads.filter((name) => name === 'other-0')).toHaveLength(2);
});
