import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAILURES } from '../../../core/errors';
import { cliDocument } from '../../../tools/generate/cli-document';
import { errorsDocument } from '../../../tools/generate/errors-document';
import { lifecycleGraph } from '../../../tools/generate/lifecycle-diagram';

const read = (file: string) => readFileSync(join(__dirname, '../../..', file), 'utf8');

describe('documents made from the code', () => {
  it.each([
    ['docs/errors.md', errorsDocument],
    ['docs/cli.md', cliDocument],
    ['docs/lifecycle.dot', lifecycleGraph],
  ])('%s says what the code says (npm run generate)', (file, make) => {
    expect(read(file)).toBe(make());
  });

  it('errors.md names every error once and no other', () => {
    const named = [...read('docs/errors.md').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);

    expect([...named].sort()).toEqual(Object.keys(FAILURES).sort());
  });

  it('cli.md explains every setting of every process', () => {
    const unexplained = [...read('docs/cli.md').matchAll(/^\| `--[^|]+\| \([A-Z_]+\) \|$/gm)];

    expect(unexplained.map(([line]) => line)).toEqual([]);
  });

  it('every error says what to do next', () => {
    for (const entry of Object.values(FAILURES)) {
      expect(entry.next.length).toBeGreaterThan(10);
      expect(entry.means).not.toMatch(/\.$/);
    }
  });
});
