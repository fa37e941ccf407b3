import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../../tools/repository-root';

it('the seconds by which parts are dealt are of files that exist', () => {
  const list = join(repositoryRoot(), 'tools', 'setup', 'test-seconds.json');
  const seconds = JSON.parse(readFileSync(list, 'utf8')) as Readonly<Record<string, number>>;

  const gone = Object.keys(seconds).filter((path) => !existsSync(join(repositoryRoot(), path)));

  expect(gone).toEqual([]);
});
