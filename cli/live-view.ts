/** Redraws a tree in place on a terminal; elsewhere prints a plain line per change. */

import type { OutputFormat } from './output';
import type { CliContext } from './ports';
import type { NodeRow } from './node-rows';
import type { RolloutSnapshot } from './snapshot';
import { truncate } from './terminal';
import { renderTree } from './tree';

export interface LiveView {
  show(snapshot: RolloutSnapshot): void;
  /** One for each server that does not answer. Data shown meanwhile is old. */
  trouble(sentences: readonly string[]): void;
  close(): void;
}

export function openLiveView(context: CliContext, output: OutputFormat): LiveView {
  if (output === 'json' || output === 'yaml') return machineView(context, output);
  return context.terminal.live ? redrawingView(context) : plainView(context);
}

const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';
const CLEAR_DOWN = '\u001B[0J';

function redrawingView(context: CliContext): LiveView {
  const { out, style } = context.terminal;
  let drawn = 0;
  let latest: RolloutSnapshot | undefined;
  let troubles: readonly string[] = [];
  const draw = () => {
    if (latest === undefined) return;
    const width = out.columns ?? 120;
    const below = troubles.map((trouble) =>
      truncate(style.yellow(`trying again: ${trouble}`), width),
    );
    const height = Math.max(4, (out.rows ?? 40) - 1 - below.length);
    const lines = renderTree(latest, { style, width, nowMs: context.now() });
    const tree =
      lines.length <= height
        ? lines
        : [...lines.slice(0, height - 1), style.dim('… (taller than the terminal)')];
    const fitting = [...tree, ...below];
    const up = drawn === 0 ? '' : `\u001B[${drawn}A\r`;
    out.write(`${up}${CLEAR_DOWN}${fitting.join('\n')}\n`);
    drawn = fitting.length;
  };
  out.write(HIDE_CURSOR);
  const clock = setInterval(draw, 1000);
  return {
    show: (snapshot) => {
      latest = snapshot;
      draw();
    },
    trouble: (sentences) => {
      troubles = sentences;
      draw();
    },
    close: () => {
      clearInterval(clock);
      draw();
      out.write(SHOW_CURSOR);
    },
  };
}

function plainView(context: CliContext): LiveView {
  const { out } = context.terminal;
  const seen = new Map<string, string>();
  let state = '';
  const stamp = () => stampOf(context);
  const line = (row: NodeRow) =>
    `${row.node} ${row.group}${row.detail === undefined ? '' : `: ${row.detail}`}`;
  return {
    show: (snapshot) => {
      const head =
        `${snapshot.pool} ${snapshot.state} ${snapshot.config ?? ''} ${snapshot.blocker ?? ''}`.trim();
      const first = state === '';
      if (head !== state) {
        state = head;
        out.write(`${stamp()} ${head}: ${snapshot.updated}/${snapshot.machineCount} updated\n`);
      }
      for (const row of snapshot.rows) {
        const text = line(row);
        const news = newsOf(row, text);
        if (seen.get(row.node) === news) continue;
        seen.set(row.node, news);
        const quiet = first && (row.group === 'Pending' || row.group === 'Updated');
        if (quiet) continue;
        out.write(`${stamp()} ${text} (${snapshot.updated}/${snapshot.machineCount} updated)\n`);
      }
    },
    trouble: troubleLines(context),
    close: () => undefined,
  };
}

function stampOf(context: CliContext): string {
  return new Date(context.now()).toISOString().slice(11, 19);
}

/** Once when a server does not answer, and once when all do. */
function troubleLines(context: CliContext): LiveView['trouble'] {
  let known: readonly string[] = [];
  return (sentences) => {
    const news = sentences.filter((sentence) => !known.includes(sentence));
    for (const sentence of news) {
      context.terminal.err.write(`${stampOf(context)} trying again: ${sentence}\n`);
    }
    if (sentences.length === 0 && known.length > 0) {
      context.terminal.err.write(`${stampOf(context)} every server answers again\n`);
    }
    known = sentences;
  };
}

/** Waiting times and progress of a pull change constantly and do not count. */
function newsOf({ group }: NodeRow, text: string): string {
  if (group === 'WaitingForGrant') return group;
  return group === 'Preparing' ? text.replace(/[\d.]+/g, '') : text;
}

function machineView(context: CliContext, output: 'json' | 'yaml'): LiveView {
  let last = '';
  return {
    show: (snapshot) => {
      const text = JSON.stringify(snapshot);
      if (text === last) return;
      last = text;
      // After a document separator, a line of JSON is a YAML document.
      context.terminal.out.write(output === 'json' ? `${text}\n` : `---\n${text}\n`);
    },
    trouble: troubleLines(context),
    close: () => undefined,
  };
}
