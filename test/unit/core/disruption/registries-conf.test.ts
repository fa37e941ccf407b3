import { gunzipSync, gzipSync } from 'node:zlib';
import { parse as parseToml } from 'smol-toml';

import { REGISTRIES_CONF } from '../../../../core/containers-files';
import { decideDrain, judgeRegistriesChange } from '../../../../core/disruption';
import type { IgnitionConfig, IgnitionResource } from '../../../../core/machine-config/types';

const ports = { parseToml, gunzip: (bytes: Uint8Array) => gunzipSync(bytes) };

function withContents(contents: IgnitionResource): IgnitionConfig {
  return {
    ignition: { version: '3.5.0' },
    storage: { files: [{ path: REGISTRIES_CONF, contents }] },
  };
}

const without: IgnitionConfig = { ignition: { version: '3.5.0' } };
const conf = (text: string): IgnitionConfig =>
  withContents({ source: `data:,${encodeURIComponent(text)}` });

const registry = (extra = ''): string => `[[registry]]\nlocation = "r.io"\n${extra}`;
const mirror = (location: string, pull?: string): string =>
  `[[registry.mirror]]\nlocation = "${location}"\n${pull === undefined ? '' : `pull-from-mirror = "${pull}"\n`}`;

describe('a change of registries.conf', () => {
  it.each([
    ['equal', registry(mirror('m')), registry(mirror('m')), undefined],
    [
      'search appended',
      'unqualified-search-registries=["a"]',
      'unqualified-search-registries=["a","b"]',
      undefined,
    ],
    [
      'search removed',
      'unqualified-search-registries=["a"]',
      '',
      'unqualified-search-registries changed other than at the end',
    ],
    ['registry removed', registry(), '', 'registry r.io is removed'],
    ['registry added', '', registry(), 'registry r.io is new and not limited to digests'],
    ['registry added for digests', '', registry('mirror-by-digest-only = true\n'), undefined],
    [
      'registry added, one mirror for tags too',
      '',
      registry(`mirror-by-digest-only = true\n${mirror('m', 'all')}`),
      'registry r.io is new and not limited to digests',
    ],
    ['mirror added for digests', registry(), registry(mirror('m', 'digest-only')), undefined],
    [
      'mirror added',
      registry(),
      registry(mirror('m')),
      'mirror m of registry r.io is new and not limited to digests',
    ],
    [
      'mirror added to a registry for digests',
      registry('mirror-by-digest-only = true\n'),
      registry(`mirror-by-digest-only = true\n${mirror('m')}`),
      undefined,
    ],
    [
      'mirror for digests beside one for tags',
      registry(mirror('m', 'all')),
      registry(`${mirror('m', 'all')}${mirror('n', 'digest-only')}`),
      undefined,
    ],
    ['mirror removed', registry(mirror('m')), registry(), 'mirror m of registry r.io is removed'],
    [
      'mirror widened',
      registry(mirror('m', 'digest-only')),
      registry(mirror('m', 'all')),
      'pull-from-mirror of mirror m of registry r.io changed',
    ],
    ['blocked', registry(), registry('blocked = true\n'), 'blocked of registry r.io changed'],
    ['insecure', registry(), registry('insecure = true\n'), 'insecure of registry r.io changed'],
    [
      'moved under the same prefix',
      registry('prefix = "p"\n'),
      '[[registry]]\nlocation = "other.io"\nprefix = "p"\n',
      'location of registry p changed',
    ],
  ])('%s', (_, old, desired, reason) => {
    const verdict = judgeRegistriesChange(conf(old), conf(desired), ports);
    expect(verdict).toEqual(
      reason === undefined ? { harmless: true } : { harmless: false, reason },
    );
  });

  it('reads a missing file as an empty one', () => {
    const text = conf(registry('mirror-by-digest-only = true\n'));
    expect(judgeRegistriesChange(without, text, ports)).toEqual({ harmless: true });
    expect(judgeRegistriesChange(text, without, ports).harmless).toBe(false);
  });

  it('reads compressed contents', () => {
    const packed = gzipSync(registry()).toString('base64');
    const zipped = withContents({ source: `data:;base64,${packed}`, compression: 'gzip' });
    expect(judgeRegistriesChange(zipped, conf(registry()), ports)).toEqual({ harmless: true });
  });
});

describe('contents that cannot be read', () => {
  const refusal = (desired: IgnitionConfig): string => {
    try {
      judgeRegistriesChange(conf(''), desired, ports);
    } catch (error) {
      expect(error).toHaveProperty('name', 'InvalidMachineConfig');
      return (error as Error).message;
    }
    return 'accepted';
  };

  it('are refused with the reason', () => {
    expect(refusal(withContents({ source: 'http://x/y' }))).toBe(
      'failed decoding Data URL scheme string missing data prefix',
    );
    expect(refusal(withContents({ source: 'data:,x', compression: 'gzip' }))).toContain(
      'are not gzip although compression says so: ',
    );
  });

  it.each([
    ['broken', 'line 1, column 1: incomplete key-value: cannot find end of key'],
    ['a = 1\nb = secret', 'line 2, column 5: invalid value'],
    ['[a]\n[a]\n', 'line 2, column 2: trying to redefine an already defined table or value'],
    ['[[registry]]\nblocked = "yes"', 'registry.blocked: expected boolean, found string'],
    ['[registry]\n', 'registry: expected array, found table'],
    [
      'unqualified-search-registries = [1]',
      'unqualified-search-registries: expected string, found number',
    ],
  ])('%j', (text, fault) => {
    expect(refusal(conf(text))).toBe(
      `failed decoding TOML content from file ${REGISTRIES_CONF}: toml: ${fault}`,
    );
  });
});

describe('whether a node is drained', () => {
  const decide = (type: 'Reboot' | 'Drain' | 'Special' | 'None', desired = without): unknown =>
    decideDrain({ actions: [{ type }], old: conf(registry()), desired, ports });

  it('is clear for a reboot, a drain and nothing, whatever registries.conf says', () => {
    const broken = conf('broken');
    expect(decide('Reboot', broken)).toEqual({ drain: true, reason: 'the node reboots' });
    expect(decide('Drain', broken)).toEqual({ drain: true, reason: 'a policy asks for it' });
    expect(decide('None', broken)).toEqual({ drain: false });
  });

  it('depends on the change of registries.conf otherwise', () => {
    expect(decide('Special')).toEqual({ drain: true, reason: 'registry r.io is removed' });
    expect(decide('Special', conf(registry()))).toEqual({ drain: false });
  });
});
