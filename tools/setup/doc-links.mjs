// Every relative link in a Markdown file points to an existing file, every `#fragment` to a
// heading, and every known gap that a file cites is in docs/reliability.md.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const filesOf = (...patterns) =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)));
const files = filesOf('*.md');

/** GitHub's anchor of a heading. */
const anchor = (heading) =>
  heading
    .toLowerCase()
    .replace(/[`*_]/g, (mark) => (mark === '_' ? '_' : ''))
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');

const withoutCode = (text) => text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
const anchorsOf = (file) =>
  new Set(
    [
      ...readFileSync(file, 'utf8')
        .replace(/^```[\s\S]*?^```/gm, '')
        .matchAll(/^#{1,6}\s+(.*)$/gm),
    ].map((match) => anchor(match[1])),
  );

const broken = [];
for (const file of files) {
  const text = withoutCode(readFileSync(join(root, file), 'utf8'));
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path, fragment] = target.split('#');
    const absolute = path === '' ? join(root, file) : resolve(dirname(join(root, file)), path);
    if (!existsSync(absolute)) broken.push(`${file}: ${target} does not exist`);
    else if (fragment && statSync(absolute).isFile() && absolute.endsWith('.md')) {
      if (!anchorsOf(absolute).has(fragment)) {
        broken.push(`${file}: ${relative(root, absolute)} has no heading #${fragment}`);
      }
    }
  }
}

const gaps = readFileSync(join(root, 'docs', 'reliability.md'), 'utf8');
for (const file of [...files, ...filesOf('*.ts', '*.mjs')]) {
  for (const [, gap] of readFileSync(join(root, file), 'utf8').matchAll(/\bgap (G\d+)\b/gi)) {
    if (!gaps.includes(`- **${gap}**`)) broken.push(`${file}: there is no known gap ${gap}`);
  }
}
if (broken.length > 0) {
  process.stderr.write(`${broken.join('\n')}\n`);
  process.exit(1);
}
process.stdout.write(`${files.length} documents, all links good\n`);
