/** `-o table|wide|json|yaml`: one list in four formats. */

import { stringify } from 'yaml';
import type { Column } from './table';
import { formatTable } from './table';
import type { Terminal } from './terminal';

export const OUTPUT_FORMATS = ['table', 'wide', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export interface Listing<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  data(row: Row): unknown;
  readonly empty: string;
  /** On standard error, beside a table. */
  readonly note?: string;
}

export function printListing<Row>(
  listing: Listing<Row>,
  format: OutputFormat,
  terminal: Terminal,
): void {
  if (format === 'json' || format === 'yaml') {
    printData({ items: listing.rows.map((row) => listing.data(row)) }, format, terminal);
    return;
  }
  if (listing.rows.length === 0) {
    terminal.err.write(`${listing.empty}\n`);
    return;
  }
  const lines = formatTable(listing.columns, listing.rows, { wide: format === 'wide' });
  terminal.out.write(`${lines.join('\n')}\n`);
  if (listing.note !== undefined) terminal.err.write(`${listing.note}\n`);
}

export function printData(data: unknown, format: 'json' | 'yaml', terminal: Terminal): void {
  terminal.out.write(format === 'json' ? `${JSON.stringify(data, null, 2)}\n` : stringify(data));
}
