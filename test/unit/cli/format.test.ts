import {
  formatAge,
  formatDuration,
  formatDurationFlag,
  parseDuration,
} from '../../../cli/durations';
import { formatTable } from '../../../cli/table';
import { openTerminal } from '../../../cli/terminal';

describe('durations', () => {
  it.each([
    [0, '0s'],
    [59.4, '59s'],
    [95, '1m35s'],
    [7200, '2h0m'],
    [200_000, '2d7h'],
    [-3, '0s'],
  ])('%d seconds are shown as %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });

  it.each([
    ['90s', 90],
    ['5m', 300],
    ['1h30m', 5400],
    ['45', 45],
    ['', undefined],
    ['soon', undefined],
    ['5m3', undefined],
  ])('--timeout %s is %s seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  it.each([
    [0, '0s'],
    [59.5, '59.5'],
    [3601, '1h1s'],
    [2161 * 3600, '2161h'],
  ])('%s seconds are written as a flag takes them', (seconds, text) => {
    expect(formatDurationFlag(seconds)).toBe(text);
    expect(parseDuration(text)).toBe(seconds);
  });

  it('says when an age is unknown', () => {
    expect(formatAge(undefined, 0)).toBe('<unknown>');
  });
});

describe('a table', () => {
  const columns = [
    { header: 'NAME', value: (row: { name: string; note: string }) => row.name },
    { header: 'NOTE', wide: true, value: (row: { name: string; note: string }) => row.note },
  ];

  it('aligns columns and hides the wide ones', () => {
    const rows = [
      { name: 'a', note: 'x' },
      { name: 'longer', note: '' },
    ];

    expect(formatTable(columns, rows, { wide: true })).toEqual([
      'NAME     NOTE',
      'a        x',
      'longer',
    ]);
    expect(formatTable(columns, rows, { wide: false })).toEqual(['NAME', 'a', 'longer']);
  });
});

describe('colours', () => {
  const sink = (isTTY: boolean) => ({ write: () => true, isTTY });

  it.each([
    ['on a terminal', true, true, {}, true],
    ['in a pipe', false, true, {}, false],
    ['with --no-color', true, false, {}, false],
    ['with NO_COLOR', true, true, { NO_COLOR: '1' }, false],
    ['with an empty NO_COLOR', true, true, { NO_COLOR: '' }, true],
    ['on a dumb terminal', true, true, { TERM: 'dumb' }, false],
  ])('%s', (_, isTTY, color, env, colored) => {
    const terminal = openTerminal({ out: sink(isTTY), err: sink(isTTY) }, { color, env });

    expect(terminal.style.red('x') !== 'x').toBe(colored);
  });
});
