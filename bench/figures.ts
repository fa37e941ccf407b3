import { formatTable } from '../cli/table';

interface Figure {
  readonly name: string;
  readonly value: string;
}

export function figureLines(result: object): readonly string[] {
  const entries = Object.entries(result) as readonly (readonly [string, unknown])[];
  const tables = entries.filter(([, value]) => isRows(value));
  const figures = entries.filter(([, value]) => !isRows(value));
  const lines = figures.flatMap(([name, value]) => figuresOf(name, value));
  return [
    ...formatTable<Figure>(
      [
        { header: 'FIGURE', value: (row) => row.name },
        { header: 'VALUE', value: (row) => row.value },
      ],
      lines,
      { wide: true },
    ),
    ...tables.flatMap(([, rows]) => ['', ...rowLines(rows as readonly object[])]),
  ];
}

export function rowLines(rows: readonly object[]): readonly string[] {
  const names = Object.keys(rows[0] ?? {});
  const columns = names.map((name, index) => ({
    header: name.replace(/[A-Z]/g, (letter) => ` ${letter}`).toUpperCase(),
    value: (row: readonly unknown[]) => textOf(row[index]),
  }));
  const values = rows.map((row) => Object.values(row) as readonly unknown[]);
  return formatTable<readonly unknown[]>(columns, values, { wide: true });
}

function isRows(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function figuresOf(name: string, value: unknown): readonly Figure[] {
  if (Array.isArray(value)) {
    if (value.length === 0) return [{ name, value: 'none' }];
    return value.map((one) => ({ name, value: textOf(one) }));
  }
  if (!isObject(value)) return [{ name, value: textOf(value) }];
  return Object.entries(value).flatMap(([inner, figure]) => figuresOf(`${name} ${inner}`, figure));
}

/** More than one digit after the point is noise. */
function textOf(value: unknown): string {
  if (typeof value === 'number') return String(Number(value.toFixed(value < 10 ? 2 : 1)));
  return isObject(value) ? JSON.stringify(value) : String(value);
}
