import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';

const read = (file: string) => readFileSync(join(repositoryRoot(), 'docs', file), 'utf8');
const reliability = read('reliability.md');
const gaps = [...reliability.matchAll(/^- \*\*(G\d+)\*\*/gm)].map(([, id]) => id);

describe('docs/reliability.md', () => {
  it('gives each known gap an ID of its own, in order', () => {
    const inOrder = [...new Set(gaps)].sort((one, other) => numberOf(one) - numberOf(other));

    expect(gaps).toEqual(inOrder);
    expect(reliability).toContain(`what is still open, G1 to ${gaps.at(-1)}\n`);
  });
});

function numberOf(id = ''): number {
  return Number(id.slice(1));
}
