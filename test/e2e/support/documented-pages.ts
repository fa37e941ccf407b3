/** Makes the commands of the documentation into scripts that keep the line numbers of the page. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The last line above a block that is not run, with the reason. */
const NOT_RUN = /^<!-- not run: (\S.*) -->$/;
const ANY_MARK = /^<!-- *not run/;
/** The commands of that page run at this point. */
const OTHER_PAGE = /^<!-- commands: (\S+) -->$/;
const FENCE = /^```(.*)$/;
/** It would run the test that reads it. */
const NEVER_RUN = /^npm test(\s+#.*)?$/;
/** Lists whose failure would not end the shell. */
const HIDDEN_FAILURE = /&&|\|\|/;

interface DocumentedPage {
  /** Below the repository: `docs/install.md`. */
  readonly path: string;
  /** As written. */
  readonly text: string;
  /** For bash. Pages that it names are at the same paths below `$PAGES`. */
  readonly script: string;
  /** With the blocks that are marked, for where they can run. */
  readonly wholeScript: string;
  readonly notRun: readonly string[];
  readonly others: readonly string[];
}

/**
 * Reads the `sh` blocks of a page.
 *
 * @throws Error with the line of a command that cannot be run as written
 */
export function readDocumentedPage(root: string, path: string): DocumentedPage {
  const text = readFileSync(join(root, path), 'utf8');
  const lines = text.split('\n');
  const notRun: string[] = [];
  const others: string[] = [];
  let block: 'none' | 'run' | 'marked' | 'text' = 'none';
  let above = '';
  const whole: string[] = [];
  const script = lines.map((line, index) => {
    const refuse = (why: string): never => {
      throw new Error(`${path}:${index + 1}: ${why}: ${line}`);
    };
    const language = FENCE.exec(line)?.[1];
    if (language !== undefined) {
      if (block !== 'none') block = 'none';
      else if (language === 'sh') block = NOT_RUN.test(above) ? 'marked' : 'run';
      else if (language === '') refuse('say what is in the block: sh is run, anything else is not');
      else block = 'text';
      above = '';
      return '';
    }
    if (block === 'none') {
      if (line !== '') above = line;
      if (ANY_MARK.test(line) && !NOT_RUN.test(line)) refuse('say why: <!-- not run: why -->');
      const other = OTHER_PAGE.exec(line)?.[1];
      if (other === undefined) return '';
      others.push(other);
      return `. "$PAGES/${other}"`;
    }
    if (block === 'marked') whole[index] = line;
    if (block === 'marked' && /^\s*[^#\s]/.test(line)) notRun.push(line);
    if (block !== 'run' || NEVER_RUN.test(line)) return '';
    if (HIDDEN_FAILURE.test(line)) refuse('give each command a line of its own');
    return line;
  });
  const wholeScript = script.map((line, index) => whole[index] ?? line).join('\n');
  return { path, text, script: script.join('\n'), wholeScript, notRun, others };
}

/** A page and all pages whose commands run in between, in any order. */
export function readDocumentedPages(root: string, path: string): readonly DocumentedPage[] {
  const page = readDocumentedPage(root, path);
  return [page, ...page.others.flatMap((other) => readDocumentedPages(root, other))];
}
