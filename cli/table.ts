import { visibleLength } from './terminal';

/** A column of a table; `wide` ones show with `-o wide` only. */
export interface Column<Row> {
  readonly header: string;
  readonly wide?: boolean;
  value(row: Row): string;
}

/**
 * kubectl's table: upper-case headers, two or more blanks between columns, nothing behind the last.
 *
 * @returns lines without line ends; the header first
 */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: { readonly wide: boolean },
): readonly string[] {
  const shown = columns.filter((column) => options.wide || column.wide !== true);
  const cells = [
    shown.map((column) => column.header),
    ...rows.map((row) => shown.map((column) => column.value(row))),
  ];
  const widths = shown.map((_, index) =>
    cells.reduce((widest, line) => Math.max(widest, visibleLength(line[index] ?? '')), 0),
  );
  return cells.map((line) =>
    line
      .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - visibleLength(cell)))
      .join('   ')
      .trimEnd(),
  );
}
