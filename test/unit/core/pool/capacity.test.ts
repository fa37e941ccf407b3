import { failureName } from '../../../../core/errors';
import {
  checkMaxUnavailable,
  maxUnavailable,
  slotCount,
  slotsOrNone,
} from '../../../../core/pool/capacity';
import { aPool } from './builders';

const poolWith = (setting?: number | string) =>
  aPool(setting === undefined ? {} : { maxUnavailable: setting });

describe('maxUnavailable as MCO reads it', () => {
  it.each<[number | string | undefined, number, number]>([
    [undefined, 10, 1],
    [0, 10, 1],
    [2, 3, 2],
    [7, 3, 7],
    [-1, 3, -1],
    ['50%', 4, 2],
    ['60%', 4, 2],
    ['1%', 10, 1],
    ['0%', 10, 1],
    ['-0%', 10, 1],
    ['+50%', 4, 2],
    ['-50%', 3, -2],
    ['100%', 0, 1],
    ['150%', 3, 4],
    ['007%', 100, 7],
  ])('%j of %d nodes is %d', (setting, machines, expected) => {
    expect(maxUnavailable(poolWith(setting), machines)).toBe(expected);
  });

  it('is 1 for arbiters, whatever is written', () => {
    expect(maxUnavailable(aPool({ maxUnavailable: 'abc' }, { name: 'arbiter' }), 3)).toBe(1);
  });

  it.each([
    ['60', 'invalid type: string is not a percentage'],
    ['50 percent', 'invalid type: string is not a percentage'],
    ['', 'invalid type: string is not a percentage'],
    ['%', 'invalid value "%": strconv.Atoi: parsing "": invalid syntax'],
    ['40 %', 'invalid value "40 %": strconv.Atoi: parsing "40 ": invalid syntax'],
    ['\t5%', 'invalid value "\\t5%": strconv.Atoi: parsing "\\t5": invalid syntax'],
    [
      '99999999999999999999%',
      'invalid value "99999999999999999999%": strconv.Atoi: parsing "99999999999999999999": value out of range',
    ],
  ])('refuses %j in the words of Go', (setting, cause) => {
    expect(() => maxUnavailable(poolWith(setting), 3)).toThrow(
      `maxUnavailable: invalid value for IntOrString: ${cause}`,
    );
  });
});

describe('maxUnavailable as Slipway accepts it', () => {
  it.each([undefined, 1, 1000, '1%', '100%', '25%'])('accepts %j', (setting) => {
    expect(() => {
      checkMaxUnavailable(poolWith(setting));
    }).not.toThrow();
  });

  it.each<[number | string, string]>([
    [0, 'so that no node could ever be updated'],
    [-1, 'so that no node could ever be updated'],
    [1.5, 'which is not a whole number'],
    ['0%', 'so that no node could ever be updated'],
    ['150%', 'which is more than the whole pool'],
    ['abc', 'which is neither an integer nor a percentage'],
    ['5', 'which is neither an integer nor a percentage'],
    ['5.5%', 'which is neither an integer nor a percentage'],
    [' 50%', 'which is neither an integer nor a percentage'],
    ['-10%', 'which is neither an integer nor a percentage'],
  ])('refuses %j, names the field and the fix', (setting, problem) => {
    let thrown: unknown;
    try {
      checkMaxUnavailable(poolWith(setting));
    } catch (error) {
      thrown = error;
    }

    expect(failureName(thrown)).toBe('InvalidPool');
    expect(thrown).toMatchObject({
      message:
        `machineconfigpool worker: spec.maxUnavailable is ${JSON.stringify(setting)}, ${problem}; ` +
        'set an integer of at least 1, or a percentage from "1%" to "100%"',
    });
  });

  it.each<[number | string | undefined, number, number]>([
    [5, 3, 3],
    ['10%', 3, 1],
    [undefined, 0, 1],
    ['50%', 5000, 2500],
  ])('gives %j of %d nodes %d slots', (setting, machines, expected) => {
    expect(slotCount(poolWith(setting), machines)).toBe(expected);
    expect(slotsOrNone(poolWith(setting), machines)).toEqual({ maxUnavailable: expected });
  });

  it('gives none, with the reason, for an invalid setting', () => {
    expect(slotsOrNone(poolWith('0%'), 3)).toEqual({
      maxUnavailable: 0,
      invalid: expect.stringContaining('spec.maxUnavailable is "0%"') as string,
    });
  });
});
