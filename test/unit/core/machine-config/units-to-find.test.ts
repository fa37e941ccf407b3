import type { IgnitionConfig, IgnitionUnit } from '../../../../core/machine-config/types';
import { unitsToFind } from '../../../../core/machine-config/units-to-find';

const config = (...units: readonly IgnitionUnit[]): IgnitionConfig => ({
  ignition: { version: '3.5.0' },
  systemd: { units },
});
const dropins = [{ name: '10.conf', contents: '[Service]\nNice=5\n' }];
const alias = '[Install]\nAlias=a.service\n';
const ON = { name: 'a.service', enabled: true };

describe('units that have to be on the machine', () => {
  it.each<[string, readonly IgnitionUnit[], readonly IgnitionUnit[], readonly string[]]>([
    ['one that is new', [], [ON], ['a.service']],
    ['one without contents', [], [{ ...ON, contents: '', dropins: [] }], ['a.service']],
    ['one with a drop-in only', [], [{ ...ON, dropins }], ['a.service']],
    ['an instance', [], [{ name: 'a@b.service', enabled: true }], ['a@b.service']],
    ['one that is enabled now', [{ ...ON, enabled: false }], [ON], ['a.service']],
    ['one that is changed', [ON], [{ ...ON, dropins }], ['a.service']],
    ['one that loses its contents', [{ ...ON, contents: '[Unit]\n' }], [ON], ['a.service']],
    ['one that is no mask any more', [{ ...ON, mask: true }], [ON], ['a.service']],
    ['one beside others', [], [ON, { name: 'b.service', contents: '[Unit]\n' }], ['a.service']],
  ])('%s', (_what, before, desired, expected) => {
    expect(unitsToFind(config(...before), config(...desired))).toEqual(expected);
  });

  it.each<[string, readonly IgnitionUnit[], readonly IgnitionUnit[]]>([
    ['one that stays', [ON], [ON]],
    ['one that goes', [ON], []],
    ['one with contents', [], [{ ...ON, contents: '[Unit]\n' }]],
    ['one that is masked', [], [{ ...ON, mask: true }]],
    ['one that is disabled', [ON], [{ ...ON, enabled: false }]],
    ['one that is left to the presets', [], [{ name: 'a.service', dropins }]],
    ['an alias', [], [ON, { name: 'b.service', enabled: true, contents: alias }]],
  ])('not %s', (_what, before, desired) => {
    expect(unitsToFind(config(...before), config(...desired))).toEqual([]);
  });

  it('are all that are enabled where there was no config, and none where there are no units', () => {
    expect(unitsToFind(undefined, config(ON))).toEqual(['a.service']);
    expect(unitsToFind(undefined, { ignition: { version: '3.5.0' } })).toEqual([]);
  });

  it('are those of which the alias is of a unit that is not enabled', () => {
    const other = { name: 'b.service', enabled: false, contents: alias };
    expect(unitsToFind(undefined, config(ON, other))).toEqual(['a.service']);
  });
});
