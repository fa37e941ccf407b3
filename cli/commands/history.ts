/** `slipway rollout history [POOL]` and `slipway node history NODE`: from the cluster, also without Temporal. */

import { EXIT, cliError, type ExitCode } from '../exit-codes';
import { nodeItems, poolItems, type FoundHistory, type HistoryItem } from '../history/items';
import { COLUMNS, rowsOf } from '../history/rows';
import type { OutputFormat } from '../output';
import type { CliContext } from '../ports';
import { formatTable } from '../table';
import { findPool, printMachineReadable } from './rollout';

/** @param poolName - absent = all pools */
export async function rolloutHistory(
  context: CliContext,
  poolName: string | undefined,
  output: OutputFormat,
): Promise<ExitCode> {
  const view = await (await context.cluster()).read();
  const pools = poolName === undefined ? view.pools : [findPool(view, poolName)];
  const found = pools.map((pool) => poolItems(pool, view));
  const empty = `no rollout is recorded${poolName === undefined ? '' : ` of pool ${poolName}`}`;
  return show(context, together(found), { output, empty, columns: 'pool' });
}

export async function nodeHistory(
  context: CliContext,
  name: string,
  output: OutputFormat,
): Promise<ExitCode> {
  const { nodes } = await (await context.cluster()).read();
  const node = nodes.find(({ metadata }) => metadata.name === name);
  if (node === undefined) {
    throw cliError(EXIT.NOT_FOUND, `node ${name} not found; its history has gone with it`);
  }
  const empty = `no update of node ${name} is recorded`;
  return show(context, nodeItems(node), { output, empty, columns: 'node' });
}

/** Pool by pool, each newest first. */
function together<Item extends HistoryItem>(
  found: readonly FoundHistory<Item>[],
): FoundHistory<Item> {
  return {
    items: found.flatMap(({ items }) => items),
    unreadable: found.flatMap(({ unreadable }) => unreadable),
  };
}

interface How {
  readonly output: OutputFormat;
  readonly columns: keyof typeof COLUMNS;
  /** Said of nothing. */
  readonly empty: string;
}

/** Exit 4 when part of it is not readable. */
function show(
  context: CliContext,
  { items, unreadable }: FoundHistory<HistoryItem>,
  { output, columns, empty }: How,
): ExitCode {
  const { out, err, style } = context.terminal;
  if (!printMachineReadable(context, output, { items }) && items.length > 0) {
    const rows = items.flatMap((item) => rowsOf(item, { style, nowMs: context.now() }));
    const lines = formatTable(COLUMNS[columns], rows, { wide: output === 'wide' });
    out.write(`${lines.join('\n')}\n`);
  }
  const notes = items.length === 0 && unreadable.length === 0 ? [empty] : unreadable;
  for (const note of notes) err.write(`${note}\n`);
  return unreadable.length === 0 ? EXIT.OK : EXIT.FAILED;
}
