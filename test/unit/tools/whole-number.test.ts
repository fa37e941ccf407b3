import { wholeNumber, wholeNumberOf } from '../../../tools/whole-number';

test('a whole number in the range is taken', () => {
  expect(['0', '7', '1000'].map((text) => wholeNumberOf(text, 0))).toEqual([0, 7, 1000]);
  expect(['4', '200'].map(wholeNumber(4, 200))).toEqual([4, 200]);
});

test.each(['', ' ', ' 5', 'abc', '-1', '0.5', '1e3', '0x10', 'Infinity', '9'.repeat(20)])(
  '%j is none, whatever Number makes of it',
  (text) => {
    expect(wholeNumberOf(text, 0)).toBeUndefined();
    expect(() => wholeNumber(0)(text)).toThrow('expected a whole number from 0 on.');
  },
);

test.each(['3', '201'])('%s is out of the range', (text) => {
  expect(() => wholeNumber(4, 200)(text)).toThrow('expected a whole number from 4 to 200.');
});
