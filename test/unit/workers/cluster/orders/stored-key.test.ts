import { generateKeyPairSync } from 'node:crypto';
import { firstOrderKey, OrderSigningKey } from '../../../../../workers/cluster/orders/stored-key';

const NOW = new Date('2030-01-01T00:00:00Z');
const stored = firstOrderKey();

it('the key of a person needs nothing beside it', () => {
  const key = new OrderSigningKey(stored);

  expect(key.keys).toMatchObject({ serial: 1, keys: [{ id: key.id }] });
  expect(key.statements).toEqual([]);
});

it('each roll is one statement more, and the last eight stay', () => {
  let at = stored;
  for (let roll = 0; roll < 10; roll += 1) {
    at = new OrderSigningKey(at).next(new Date(NOW.getTime() + roll * 30 * 24 * 3_600_000));
  }
  const key = new OrderSigningKey(at);

  expect(key.keys.serial).toBe(11);
  expect(key.keys.keys).toHaveLength(2);
  expect(key.statements).toHaveLength(8);
});

it('what is published has no private key', () => {
  const { published } = new OrderSigningKey(new OrderSigningKey(stored).next(NOW));

  expect(Object.keys(published)).toEqual(['keys.json', 'statements.json']);
  expect(JSON.stringify(published)).not.toContain('PRIVATE');
});

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const other = new OrderSigningKey(firstOrderKey());
it.each([
  ['no key', { 'key.pem': 'SECRET' }, 'key.pem: is no private key in PEM'],
  [
    'another kind of key',
    { 'key.pem': rsa.export({ format: 'pem', type: 'pkcs8' }).toString() },
    'key.pem: is no Ed25519 key',
  ],
  ['keys that are damaged', { ...stored, 'keys.json': '{' }, 'keys.json: is not JSON'],
  [
    'statements that are damaged',
    { ...stored, 'statements.json': '{}' },
    'statements.json: is not a list of signed statements',
  ],
  [
    'the keys of another one',
    { ...stored, 'keys.json': other.published['keys.json'] },
    'keys.json: does not name the key of key.pem',
  ],
])('a Secret with %s is refused by field, and not quoted', (_what, damaged, because) => {
  let message = '';
  try {
    new OrderSigningKey(damaged);
  } catch (error) {
    message = (error as Error).message;
  }

  expect(message).toContain(because);
  expect(message).not.toContain('SECRET');
});
