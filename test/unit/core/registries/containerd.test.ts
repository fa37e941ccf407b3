import { parse as parseToml } from 'smol-toml';

import { containerdRegistries, type RegistrySources } from '../../../../core/registries';
import { digestMirrors, NO_MIRRORS, tagMirrors } from './builders';

const made = (registrySources: RegistrySources, mirrors = NO_MIRRORS) => {
  const { files, problems } = containerdRegistries({ registrySources }, mirrors);
  return {
    files: Object.fromEntries<string>(
      files.map(({ path, contents }) => [path.split('/').at(-2) ?? '', contents.trimEnd()]),
    ),
    problems: problems.map(({ problem }) => problem),
  };
};

describe('files for containerd', () => {
  it('name mirrors of a host in order, with their path', () => {
    const mirrors = digestMirrors({ source: 's.test:5000', mirrors: ['b.test', 'a.test:443/x'] });
    expect(made({}, mirrors)).toEqual({
      files: {
        's.test:5000': [
          'server = "https://s.test:5000"',
          '',
          '[host."https://b.test"]',
          '  capabilities = ["pull"]',
          '',
          '[host."https://a.test:443/v2/x"]',
          '  capabilities = ["pull"]',
          '  override_path = true',
        ].join('\n'),
      },
      problems: [],
    });
  });

  it('let a mirror for tags resolve them', () => {
    const { files } = made({}, tagMirrors({ source: 's.test', mirrors: ['a.test'] }));
    expect(files['s.test']).toContain('capabilities = ["pull", "resolve"]');
  });

  it('keep the order of mirrors for digests and for tags, if there is one', () => {
    const both = (...places: string[]) => ({
      ...digestMirrors({ source: 's.test', mirrors: ['b.test', 'a.test'] }),
      tagMirrorSets: tagMirrors({ source: 's.test', mirrors: places }).tagMirrorSets,
    });
    const orderOf = ({ files }: ReturnType<typeof made>) =>
      [...(files['s.test'] ?? '').matchAll(/host\."https:\/\/(.)\.test"/g)].map(([, name]) => name);
    const ordered = made({}, both('c.test', 'b.test', 'd.test'));
    expect(orderOf(ordered)).toEqual(['c', 'b', 'a', 'd']);
    expect(ordered.problems).toEqual([]);
    expect(made({}, both('a.test', 'b.test')).problems).toEqual([
      expect.stringContaining('registry s.test: containerd tries mirrors in one order'),
    ]);
  });

  it.each([
    [{ blockedRegistries: ['s.test'] }, NO_MIRRORS],
    [
      {},
      digestMirrors({
        source: 's.test',
        mirrors: ['a.test'],
        mirrorSourcePolicy: 'NeverContactSource',
      }),
    ],
  ])('leave a host that must not be asked only pushes: %j', (sources, mirrors) => {
    const { files } = made(sources, mirrors);
    expect(files['s.test']).toMatch(/^server = "https:\/\/s\.test"\ncapabilities = \["push"\]/);
  });

  it('do not ask a mirror in a blocked registry', () => {
    const mirrors = digestMirrors({ source: 's.test', mirrors: ['a.test/x', 'b.test'] });
    const { files } = made({ blockedRegistries: ['*.org', 'a.test/x'] }, mirrors);
    expect(files['s.test']).not.toContain('a.test');
    expect(files['s.test']).toContain('b.test');
  });

  it('try HTTPS without verification and then HTTP for an insecure host', () => {
    const mirrors = digestMirrors({ source: 's.test', mirrors: ['a.test/x', 'b.test'] });
    const { files } = made({ insecureRegistries: ['i.test', 'a.test/x'] }, mirrors);
    expect(files['i.test']).toBe('server = "http://i.test"\nskip_verify = true\n\n[host]');
    expect(files['s.test']).toContain(
      '[host."http://a.test/v2/x"]\n  capabilities = ["pull"]\n  skip_verify = true',
    );
    expect(files['s.test']).toContain('[host."https://b.test"]\n  capabilities = ["pull"]');
  });

  it('know the name of Docker Hub', () => {
    const { files } = made({ blockedRegistries: ['docker.io'] });
    expect(files['docker.io']).toContain('server = "https://registry-1.docker.io"');
  });

  it('block every host that is not allowed', () => {
    const mirrors = digestMirrors({ source: 's.test', mirrors: ['m.test'] });
    const { files, problems } = made({ allowedRegistries: ['a.test', 'b.test/x'] }, mirrors);
    expect(Object.keys(files)).toEqual(['_default', 'a.test', 'b.test', 's.test']);
    expect(files['_default']).toBe(
      'server = "https://blocked.invalid"\ncapabilities = ["push"]\n\n[host]',
    );
    expect(files['a.test']).toBe('server = "https://a.test"\n\n[host]');
    expect(files['s.test']).toContain('capabilities = ["push"]');
    expect(problems).toEqual([
      'registry b.test/x: containerd allows whole registries only: all of b.test is allowed',
    ]);
  });

  it('are TOML', () => {
    const mirrors = digestMirrors({ source: 's.test', mirrors: ['a.test/x', 'b.test'] });
    expect(
      parseToml(made({ insecureRegistries: ['s.test'] }, mirrors).files['s.test'] ?? ''),
    ).toEqual({
      server: 'http://s.test',
      skip_verify: true,
      host: {
        'https://a.test/v2/x': { capabilities: ['pull'], override_path: true },
        'https://b.test': { capabilities: ['pull'] },
      },
    });
  });

  it('are refused for what MCO refuses', () => {
    expect(() => made({ insecureRegistries: ['*'] })).toThrow(
      'invalid entry for insecure registries',
    );
    expect(() => made({}, digestMirrors({ source: 'https://a', mirrors: ['b'] }))).toThrow(
      'invalid format for source "https://a"',
    );
  });
});

describe('repositories', () => {
  it('may have a mirror by digest under the same path', () => {
    const mirrors = digestMirrors({ source: 's.test/a/b', mirrors: ['m.test/x/a/b'] });
    const { files, problems } = made({}, mirrors);
    expect(files['s.test']).toContain('[host."https://m.test/v2/x"]\n  capabilities = ["pull"]');
    expect(problems).toEqual([
      'registry s.test/a/b: containerd asks m.test/x for every image of s.test by digest, not only for this repository',
    ]);
  });

  it.each([
    [
      digestMirrors({ source: 's.test/a', mirrors: ['m.test/b'] }),
      'containerd cannot pull this repository from m.test/b, because the path differs',
    ],
    [
      tagMirrors({ source: 's.test/a', mirrors: ['m.test/a'] }),
      'containerd cannot use m.test/a for tags of this repository only',
    ],
    [
      tagMirrors({ source: '*.test', mirrors: ['m.org'] }),
      'containerd knows no hosts by a pattern, and does nothing of this entry',
    ],
  ])('have no file otherwise: %j', (mirrors, problem) => {
    const { files, problems } = made({}, mirrors);
    expect(files).toEqual({});
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it('are no problem inside of a host with the same wishes', () => {
    const mirrors = tagMirrors({ source: 's.test', mirrors: ['m.test/x'] });
    const sources = { blockedRegistries: ['s.test', 's.test/a'], insecureRegistries: ['s.test'] };
    expect(made(sources, mirrors).problems).toEqual([]);
  });

  it('cannot be blocked or insecure alone', () => {
    const sources = { blockedRegistries: ['s.test/a'], insecureRegistries: ['s.test/b'] };
    expect(made(sources).problems).toEqual([
      expect.stringContaining('registry s.test/a: containerd blocks whole registries only'),
      expect.stringContaining('registry s.test/b: containerd has insecure registries only'),
    ]);
  });

  it.each([
    [
      { containerRuntimeSearchRegistries: ['a.test'] },
      'containerd looks up short names on docker.io',
    ],
    [
      { allowedRegistries: ['*.test'] },
      'containerd knows no hosts by a pattern, and blocks nothing',
    ],
  ])('%j is a problem', (sources, problem) => {
    expect(made(sources)).toEqual({ files: {}, problems: [expect.stringContaining(problem)] });
  });
});
