import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { readDocumentedPage, readDocumentedPages } from '../../e2e/support/documented-pages';

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-pages-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

function read(...lines: readonly string[]) {
  writeFileSync(join(directory, 'page.md'), lines.join('\n'));
  return readDocumentedPage(directory, 'page.md');
}

it('the pages of the repository leave at most six commands to the reader, and README.md none', () => {
  const pages = readDocumentedPages(repositoryRoot(), 'README.md');

  expect(pages.map(({ path }) => path)).toEqual([
    'README.md',
    'docs/install.md',
    'docs/tasks.md',
    'docs/uninstall.md',
  ]);
  expect(pages[0]?.notRun).toEqual([]);
  expect(pages.flatMap(({ notRun }) => notRun).length).toBeLessThanOrEqual(6);
});

it('gives each command the line that it has on its page', () => {
  const { script } = read('# Page', '', '```sh', 'npm run demo  # why', 'npm test   # all', '```');

  expect(script.split('\n')).toEqual(['', '', '', 'npm run demo  # why', '', '']);
});

it('leaves out marked blocks and counts their commands', () => {
  const mark = '<!-- not run: pushes an image -->';
  const { script, notRun } = read(
    mark,
    '',
    '```sh',
    'one',
    '# comment',
    'two',
    '```',
    '```sh',
    'go',
    '```',
  );

  expect(notRun).toEqual(['one', 'two']);
  expect(script.trim()).toBe('go');
});

it('runs the commands of another page where it is named', () => {
  const { script, others } = read('<!-- commands: docs/other.md -->', '```text', 'kubectl', '```');

  expect(script.trim()).toBe('. "$PAGES/docs/other.md"');
  expect(others).toEqual(['docs/other.md']);
});

it.each([
  ['a block without a language', ['```', 'kubectl get nodes', '```'], /page\.md:1: say what/],
  ['a failure that nothing would see', ['```sh', 'false && true', '```'], /page\.md:2: give each/],
  ['a mark without a reason', ['<!-- not run -->', '```sh', 'one', '```'], /page\.md:1: say why/],
])('refuses %s', (_what, lines, message) => {
  expect(() => read(...lines)).toThrow(message);
});
