// The table of faults in docs/reliability.md. Each run brings rows of the suites that ran in it; those of
// the other suites stay, with the commit and the rounds that they are from.
const BEGIN = '<!-- faults: counted by `npm run faults -- --write` -->';
const END = '<!-- /faults -->';
const ROWS = ['suite', 'process', 'fault: survived', 'where'];
const RUNS = ['suite', 'rounds', 'seed', 'commit'];
const NOT_NOTED = 'not noted';
/** What every survived fault of a suite has been found to end as, which its tests assert, and the promises that were looked at. */
const ENDS = {
  together: ['completed, one reboot each', 'I1 to I7'],
  disks: ['its node is as it was and says why, or is slow; then completed', 'I1 to I7'],
  processes: ['completed, one reboot each', 'I1 to I7'],
  two: ['completed, one reboot each', 'I1 to I7'],
  'temporal-lost': ['completed, one reboot each', 'I1 to I7'],
  cancel: ['as counted; a retry completes it', 'I1 to I7'],
  rollout: ['completed, one reboot each', 'I1 to I7'],
  threshold: ['old config on who tried, two reboots; nobody else', 'I1 to I7, threshold'],
  'way-back': ['old config, in service, named; two reboots', 'I1 to I7'],
  clock: ['completed; too late by hours: taken back, then completed', 'I1 to I7'],
  services: ['completed, no reboot', 'I1 to I7'],
};
const SHOWN = [...ROWS, 'outcome', 'checks'];

/**
 * @param {readonly object[]} faults - survived ones, as the suites write them down
 * @returns {{ rows: string[][], runs: string[][] }} a row for each suite and process, and a run for each suite
 */
export function tablesOf(faults) {
  const rows = new Map();
  const runs = new Map();
  for (const fault of faults) {
    const { suite, victim, blow, boundary = 'at random' } = fault;
    const key = `${suite}|${victim}`;
    const row = rows.get(key) ?? { suite, victim, blows: new Map(), where: new Set() };
    row.blows.set(blow, (row.blows.get(blow) ?? 0) + 1);
    row.where.add(boundary);
    rows.set(key, row);
    const run = runs.get(suite) ?? RUNS.slice(1).map(() => new Set());
    [roundsOf(fault), fault.from?.seed, fault.from?.commit].forEach((value, column) =>
      run[column].add(String(value ?? NOT_NOTED)),
    );
    runs.set(suite, run);
  }
  return {
    rows: [...rows.values()].map(({ suite, victim, blows, where }) => [
      suite,
      victim,
      [...blows].map(([blow, count]) => `${blow}: ${count}`).join(', '),
      [...where].join(', '),
    ]),
    runs: [...runs].map(([suite, columns]) => [
      suite,
      ...columns.map((one) => [...one].join(', ')),
    ]),
  };
}

/** The document with the tables of a run in it, between the marks. @throws Error when it has no marks */
export function withTables(document, ran) {
  const [before, rest = ''] = document.split(BEGIN);
  const [old, after] = rest.split(END);
  if (after === undefined) throw new Error('there are no marks for the table');
  const known = tablesIn(old);
  const rows = merged(known.rows, ran.rows);
  const suites = [...new Set(rows.map(([suite]) => suite))];
  const runs = merged(known.runs, ran.runs);
  const all = suites.map(
    (suite) => runs.find(([name]) => name === suite) ?? [suite, ...RUNS.slice(1).fill(NOT_NOTED)],
  );
  return `${before}${BEGIN}\n\n${textOf({ rows, runs: all })}\n\n${END}${after}`;
}

/** As it stands in the document. */
export function textOf({ rows, runs }) {
  const shown = rows.map((row) => [...row, ...endOf(row[0])]);
  return `${tableText(SHOWN, shown)}\n\n${tableText(RUNS, runs)}`;
}

/** @throws Error for a suite of which nobody has said it */
function endOf(suite) {
  const end = ENDS[suite];
  if (end === undefined) throw new Error(`say in ENDS how faults of the suite ${suite} end`);
  return end;
}

function roundsOf({ from }) {
  return from?.rounds === 0 ? 'as `npm test`' : from?.rounds;
}

/** Rows of the suites that ran are replaced, where the first of them stood; new suites come last. */
function merged(known, ran) {
  const kept = new Set(known.map(([suite]) => suite));
  const isNew = new Set(ran.map(([suite]) => suite));
  const done = new Set();
  const old = known.flatMap((row) => {
    const [suite] = row;
    if (!isNew.has(suite)) return [row];
    if (done.has(suite)) return [];
    done.add(suite);
    return ran.filter(([name]) => name === suite);
  });
  return [...old, ...ran.filter(([suite]) => !kept.has(suite))];
}

function tablesIn(text) {
  const tables = { rows: [], runs: [] };
  let into;
  for (const line of text.split('\n').filter((one) => one.startsWith('|'))) {
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    const header = cells.join();
    if (header === ROWS.join() || header === SHOWN.join()) into = tables.rows;
    else if (header === RUNS.join()) into = tables.runs;
    else if (!cells.every((cell) => /^-+$/.test(cell))) into.push(cells.slice(0, ROWS.length));
  }
  return tables;
}

function tableText(header, rows) {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(3, ...all.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}
