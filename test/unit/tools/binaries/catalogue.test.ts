import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BINARY_NAMES, sourceOf } from '../../../../tools/binaries/catalogue';
import { repositoryRoot } from '../../../../tools/repository-root';

describe('the catalogue of development servers', () => {
  it.each(BINARY_NAMES)('pins the same %s as its go.mod', (name) => {
    const { folder, goPackage, version } = sourceOf(name);

    const manifest = readFileSync(join(repositoryRoot(), 'tools', folder, 'go.mod'), 'utf8');

    const tools = [...manifest.matchAll(/^(?:tool |\t)(\S+)$/gm)].map((match) => match[1]);
    expect(tools).toContain(goPackage);
    const pinned = [...manifest.matchAll(/^(?:require )?\s*(\S+) v(\S+)/gm)].filter(
      ([, path = '']) => goPackage === path || goPackage.startsWith(`${path}/`),
    );
    expect(pinned.map((match) => match[2])).toEqual([version]);
  });

  it('stamps builds with the pinned version', () => {
    for (const name of BINARY_NAMES) {
      const { goVariables, version } = sourceOf(name);
      for (const [variable, value] of Object.entries(goVariables)) {
        if (!/version/i.test(variable)) continue;
        expect(`v${version}`).toContain(value.replace(/^v/, ''));
      }
    }
  });
});
