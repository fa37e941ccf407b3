import { editRegistries } from '../../../../core/registries/edit-registries';
import { findRegistry, pullSources } from '../../../../core/registries/pull-sources';
import { parseNamed } from '../../../../core/registries/reference';
import { EMPTY_CONF, scopeOf } from '../../../../core/registries/registries-conf';
import { validLists } from '../../../../core/registries';
import type { MirrorSets } from '../../../../core/registries';
import { digestMirrors, NO_MIRRORS, tagMirrors } from './builders';

interface Edits {
  readonly insecure?: readonly string[];
  readonly blocked?: readonly string[];
  readonly mirrors?: MirrorSets;
}

const edit = ({ insecure = [], blocked = [], mirrors = NO_MIRRORS }: Edits) =>
  editRegistries(EMPTY_CONF, { insecure, blocked, mirrors });

const shown = (edits: Edits) =>
  edit(edits).registries.map((registry) => {
    const mirrors = registry.mirrors.map(
      ({ location, insecure, pullFromMirror }) =>
        `${location} ${pullFromMirror}${insecure ? ' insecure' : ''}`,
    );
    const flags = [
      ...(registry.insecure ? ['insecure'] : []),
      ...(registry.blocked ? ['blocked'] : []),
    ];
    return [scopeOf(registry), ...flags, ...mirrors].join(', ');
  });

describe('editing registries.conf', () => {
  it('gives insecure and blocked to the entries inside', () => {
    const insecure = ['*.example.com'];
    const blocked = ['a.example.com/x', 'a.example.com'];
    expect(shown({ insecure, blocked })).toEqual([
      'a.example.com/x, insecure, blocked',
      'a.example.com, insecure, blocked',
      '*.example.com, insecure',
    ]);
  });

  it('gives mirrors to the entries inside that have none', () => {
    const mirrors = digestMirrors(
      { source: 's.test', mirrors: ['m.test/x'] },
      { source: 's.test/own', mirrors: ['o.test'] },
    );
    expect(shown({ mirrors, blocked: ['s.test/a/b', 's.test/own'] })).toEqual([
      's.test, m.test/x digest-only',
      's.test/own, blocked, o.test digest-only',
      's.test/a/b, blocked, m.test/x/a/b digest-only',
    ]);
  });

  it('keeps the mirrors for digests before those for tags', () => {
    const mirrors = {
      ...digestMirrors({ source: 's.test', mirrors: ['d.test'] }),
      tagMirrorSets: tagMirrors({ source: 's.test', mirrors: ['t.test'] }).tagMirrorSets,
    };
    expect(shown({ mirrors, insecure: ['t.test'] })).toEqual([
      's.test, d.test digest-only, t.test tag-only insecure',
      't.test, insecure',
    ]);
  });

  it('ignores a rule without a real mirror, with its policy', () => {
    const rule = { source: 's.test', mirrors: [], mirrorSourcePolicy: 'NeverContactSource' };
    expect(shown({ mirrors: digestMirrors(rule) })).toEqual([]);
  });

  it('fails, as MCO does, for an entry inside of a mirrored wildcard', () => {
    const mirrors = digestMirrors({ source: '*.test', mirrors: ['m.test'] });
    expect(() => shown({ mirrors, blocked: ['s.test'] })).toThrow('for a wildcard scope "*.test"');
  });
});

describe('pulling', () => {
  const sources = (conf: ReturnType<typeof edit>, text: string): readonly string[] => {
    const reference = parseNamed(text);
    const registry = findRegistry(conf, text);
    if (reference === undefined || registry === undefined) return [];
    return pullSources(registry, reference).map((source) => source.reference.name);
  };
  const DIGEST = `@sha256:${'a'.repeat(64)}`;

  it.each([
    [`s.test/a${DIGEST}`, ['d.test/x/a', 's.test/a']],
    ['s.test/a:1', ['t.test/a', 's.test/a']],
    [`s.test/deep/a${DIGEST}`, ['e.test/a', 's.test/deep/a']],
    ['other.test/a', []],
  ])('%s', (text, expected) => {
    const conf = edit({
      mirrors: {
        ...digestMirrors(
          { source: 's.test', mirrors: ['d.test/x'] },
          { source: 's.test/deep', mirrors: ['e.test'] },
        ),
        tagMirrorSets: tagMirrors({ source: 's.test', mirrors: ['t.test'] }).tagMirrorSets,
      },
    });
    expect(sources(conf, text)).toEqual(expected);
  });

  it('does not mind a slash at the end of an entry', () => {
    expect(sources(edit({ insecure: ['s.test/'] }), 's.test/a:1')).toEqual(['s.test/a']);
  });

  it('of a wildcard asks the host itself behind the mirrors', () => {
    const conf = edit({ mirrors: digestMirrors({ source: '*.test', mirrors: ['m.org/x'] }) });
    expect(sources(conf, `s.test/a${DIGEST}`)).toEqual(['m.org/x/a', 's.test/a']);
  });
});

describe('lists of registries', () => {
  const RELEASE = `r.test/ocp/release@sha256:${'0'.repeat(64)}`;
  const lists = (blockedRegistries: readonly string[], mirrors = NO_MIRRORS) =>
    validLists(RELEASE, { registrySources: { blockedRegistries } }, mirrors);
  const mirrored = digestMirrors({ source: 'r.test', mirrors: ['m.test/x'] });

  it('leave out what blocks the release', () => {
    expect(lists(['r.test', 'bad.test'])).toEqual({
      registriesBlocked: ['bad.test'],
      policyBlocked: ['bad.test'],
      error:
        'error adding ["r.test"] to blocked registries, cannot block the repository being used by the payload',
    });
  });

  it('block the release where a mirror serves it', () => {
    expect(lists(['r.test', 'r.test/ocp/release'], mirrored)).toEqual({
      registriesBlocked: ['r.test', 'r.test/ocp/release'],
      policyBlocked: ['r.test'],
      allowed: ['r.test/ocp/release', 'r.test/ocp/release'],
    });
  });

  it.each(['m.test/x', 'm.test', '*.test'])('do not count a mirror in %s', (blocked) => {
    expect(lists(['r.test', blocked], mirrored).error).toContain('["r.test"');
  });

  it('are none when an entry inside of a mirrored wildcard covers the release', () => {
    const wildcard = digestMirrors({ source: '*.test', mirrors: ['m.org'] });
    expect(lists(['bad.org', 'r.test'], wildcard)).toEqual({
      error: 'internal error: mirrorsAdjustedForNestedScope for a wildcard scope "*.test"',
    });
  });

  it('need the name of the release', () => {
    expect(() => validLists('nginx', {}, NO_MIRRORS)).toThrow(
      'error parsing reference of release image',
    );
  });
});
