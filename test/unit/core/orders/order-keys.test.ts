import { sign } from 'node:crypto';
import {
  isSignedBy,
  learnKeys,
  readOrderKeys,
  readStatements,
  signedBytes,
  type SignedText,
} from '../../../../core/orders';
import {
  firstOrderKey,
  OrderSigningKey,
  type StoredOrderKey,
} from '../../../../workers/cluster/orders/stored-key';

const NOW = new Date('2030-01-01T00:00:00Z');
const DAY_MS = 24 * 3_600_000;
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY_MS);

const FIRST = firstOrderKey();
const first = new OrderSigningKey(FIRST);
const second = new OrderSigningKey(first.next(NOW));
const third = new OrderSigningKey(second.next(inDays(100)));
const thief = new OrderSigningKey(firstOrderKey());

const ids = ({ keys }: ReturnType<typeof learnKeys>) => keys.map(({ id }) => id);

describe('statements that roll the keys of orders', () => {
  it('bring the next key, and keep the one before for a week', () => {
    const learned = learnKeys(first.keys, second.statements, NOW);

    expect(ids(learned)).toEqual([second.id, first.id]);
    expect(learned.keys[1]?.until).toBe(inDays(7).toISOString());
  });

  it('lead a host over a roll that it missed, and forget what has ended', () => {
    const learned = learnKeys(first.keys, third.statements, inDays(101));

    expect(ids(learned)).toEqual([third.id, second.id]);
    expect(learned.serial).toBe(3);
  });

  it('change nothing the second time', () => {
    const learned = learnKeys(first.keys, second.statements, NOW);

    expect(learnKeys(learned, second.statements, NOW)).toBe(learned);
  });

  it('change nothing when an earlier one comes again', () => {
    const learned = learnKeys(first.keys, third.statements, inDays(101));

    expect(learnKeys(learned, second.statements, inDays(101))).toBe(learned);
  });

  const [roll] = second.statements as [SignedText];
  it.each<[string, readonly SignedText[]]>([
    ['of a key that nobody knows', new OrderSigningKey(thief.next(NOW)).statements],
    ['with a text that was changed', [{ ...roll, text: roll.text.replace(':2', ':9') }]],
    ['with the ID of another key', [{ ...roll, keyId: thief.id }]],
    ['that was signed as an order', [first.sign(roll.text)]],
  ])('count for nothing: one %s', (_what, statements) => {
    expect(learnKeys(first.keys, statements, NOW)).toBe(first.keys);
  });

  it('count for nothing when their key has ended', () => {
    const known = learnKeys(first.keys, second.statements, NOW);
    const forged = signedWith(FIRST, JSON.stringify({ ...thief.keys, serial: 9 }));

    expect(ids(learnKeys(known, [forged], inDays(6)))).toEqual([thief.id]);
    expect(learnKeys(known, [forged], inDays(8))).toBe(known);
  });
});

/** As whoever has stolen a key does it. */
function signedWith(stored: StoredOrderKey, text: string): SignedText {
  const signature = sign(null, signedBytes('order keys', text), stored['key.pem']);
  return { text, signature: signature.toString('base64'), keyId: first.id };
}

describe('a signature', () => {
  const publicKey = first.keys.keys[0]?.publicKey ?? '';
  it('is of one text, one purpose and one key', () => {
    const signed = first.sign('text');

    expect(isSignedBy(publicKey, 'order', signed)).toBe(true);
    expect(isSignedBy(publicKey, 'order keys', signed)).toBe(false);
    expect(isSignedBy(publicKey, 'order', { ...signed, text: 'other' })).toBe(false);
    expect(isSignedBy(publicKey, 'order', { ...signed, signature: 'AAAA' })).toBe(false);
    expect(isSignedBy('AAAA', 'order', signed)).toBe(false);
  });
});

describe('the file of keys', () => {
  it.each([
    ['no JSON', 'keys', /is not JSON/],
    ['no serial', '{"keys":[]}', /serial: is not a number/],
    ['no keys', '{"serial":1,"keys":[]}', /keys: is not a list of one to 8 keys/],
    ['a key without text', '{"serial":1,"keys":[{}]}', /keys\[0\]\.publicKey: is not a text/],
    [
      'an end that is no time',
      '{"serial":1,"keys":[{"publicKey":"A","until":"soon"}]}',
      /keys\[0\]\.until: is not a time/,
    ],
  ])('is refused with %s', (_what, text, why) => {
    expect(() => readOrderKeys(text)).toThrow(why);
  });

  it('is read as it was published', () => {
    expect(readOrderKeys(second.published['keys.json'])).toEqual(second.keys);
    expect(readStatements(second.published['statements.json'])).toEqual(second.statements);
    expect(() => readStatements('[{}]')).toThrow('is not a list of signed statements');
  });
});
