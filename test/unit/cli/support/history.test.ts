import { plainHistory } from '../../../../cli/support/history';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const payload = (encoding: string, data: string) => ({
  metadata: { encoding: bytes(encoding) },
  data: bytes(data),
});
const long = (value: string) => ({ low: 0, high: 0, unsigned: false, toString: () => value });

it.each<[string, unknown, unknown]>([
  ['a payload', payload('json/plain', '{"node":"w1"}'), { node: 'w1' }],
  ['an encrypted payload', payload('binary/encrypted', 'abc'), '(3 bytes, binary/encrypted)'],
  ['a broken payload', payload('json/plain', '{'), '(1 bytes, not JSON)'],
  ['a time', { seconds: long('1767225600'), nanos: 5e8 }, '2026-01-01T00:00:00.500Z'],
  ['a duration', { seconds: long('90'), nanos: 0 }, '90s'],
  ['a number', long('12'), 12],
  ['a number that JSON cannot hold', long('9223372036854775807'), '9223372036854775807'],
  ['bytes', { token: bytes('abcd') }, { token: '(4 bytes)' }],
  ['what is absent', { a: null, b: undefined, c: '', d: 0, e: [] }, { d: 0, e: [] }],
])('%s is plain JSON', (_what, value, expected) => {
  expect(plainHistory(value)).toEqual(expected);
});
