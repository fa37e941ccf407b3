import { visibleLength } from './terminal';

/** A column of a table; `wide` ones show with `-o wide` only. */
export interface Column<Row> {
  readonly header: string;
  readonly wide?: boolean;
  /** A change is no news. */
  readonly isClock?: boolean;
  value(row: Row): string;
}

interface TableOptions {
  readonly wide: boolean;
}

/**
 * kubectl's: upper-case headers, two or more blanks between columns, no trailing blanks.
 *
 * @returns lines without line ends; the header first
 */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: TableOptions,
): readonly string[] {
  const widths = widthsOf(columns, rows, options);
  return formatRows(columns, rows, { ...options, widths, header: true });
}

export function widthsOf<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: TableOptions,
): readonly number[] {
  return shownOf(columns, options).map((column) =>
    rows.reduce(
      (widest, row) => Math.max(widest, visibleLength(column.value(row))),
      visibleLength(column.header),
    ),
  );
}

/** A longer cell pushes the rest of its line aside. */
export function formatRows<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: TableOptions & { readonly widths: readonly number[]; readonly header: boolean },
): readonly string[] {
  const shown = shownOf(columns, options);
  const cells = rows.map((row) => shown.map((column) => column.value(row)));
  const lines = options.header ? [shown.map((column) => column.header), ...cells] : cells;
  return lines.map((line) =>
    line
      .map((cell, index) => padTo(cell, options.widths[index] ?? 0))
      .join('   ')
      .trimEnd(),
  );
}

/** The text of a row without clocks, for comparison. */
export function newsOf<Row>(
  columns: readonly Column<Row>[],
  row: Row,
  options: TableOptions,
): string {
  const cells = shownOf(columns, options)
    .filter(({ isClock }) => isClock !== true)
    .map((column) => column.value(row));
  return JSON.stringify(cells);
}

function shownOf<Row>(
  columns: readonly Column<Row>[],
  { wide }: TableOptions,
): readonly Column<Row>[] {
  return columns.filter((column) => wide || column.wide !== true);
}

function padTo(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - visibleLength(cell)));
}
