// The table of faults in docs/reliability.md. A run replaces the rows of its suites, unless it had
// fewer rounds; rows of other suites stay, with their commit and rounds.
const BEGIN = '<!-- faults: counted by `npm run faults -- --write` -->';
const END = '<!-- /faults -->';
const ROWS = ['suite', 'process', 'fault: survived', 'where'];
const RUNS = ['suite', 'rounds', 'seed', 'commit'];
const NOT_NOTED = 'not noted';
const AS_TESTED = 'as `npm test`';
/** Boundaries in the order of an update; other names of suites follow. */
const PHASES = [
  ...['Preparing', 'WaitingForGrant', 'Cordoning', 'Draining', 'Applying', 'Reloading'],
  ...['Rebooting', 'Verifying', 'Completing', 'GoingBack', 'RebootingBack', 'VerifyingBack'],
];
/** For suites in which nothing is evicted. */
const NO_PODS = 'I1 to I7 (no pods)';
/** By suite: how every survived fault ends, and the checked promises. */
const ENDS = {
  together: ['completed, one reboot each', 'I1 to I7'],
  disks: ['its node is as it was and says why, or is slow; then completed', NO_PODS],
  processes: ['completed, one reboot each', 'I1 to I7'],
  two: ['completed, one reboot each', 'I1 to I7'],
  'temporal-lost': ['completed, one reboot each', 'I1 to I7'],
  cancel: ['as counted; a retry completes it', 'I1 to I7'],
  rollout: ['completed, one reboot each', 'I1 to I7'],
  threshold: ['old config on who tried, two reboots; nobody else', `${NO_PODS}, threshold`],
  'way-back': ['old config, in service, named; two reboots', 'I1 to I7'],
  clock: ['completed; too late by hours: taken back, then completed', 'I1 to I7'],
  services: ['completed, no reboot', NO_PODS],
};
const SHOWN = [...ROWS, 'outcome', 'checks'];

/**
 * @param {readonly object[]} faults - survived ones, as the suites record them
 * @returns {{ rows: string[][], runs: string[][] }} a row for each suite and process, and a run for each suite
 */
export function tablesOf(faults) {
  const suites = Map.groupBy(faults, ({ suite }) => suite);
  return {
    rows: [...suites].flatMap(([suite, those]) => rowsOf(suite, those)),
    runs: [...suites].map(([suite, those]) => runOf(suite, those)),
  };
}

function rowsOf(suite, faults) {
  const blows = [...new Set(faults.map(({ blow }) => blow))];
  return [...Map.groupBy(faults, ({ victim }) => victim)].map(([victim, struck]) => [
    ...[suite, victim],
    countsOf(struck, ({ blow }) => blow, blows, ': '),
    countsOf(struck, ({ boundary = 'at random' }) => boundary, PHASES, ' ×'),
  ]);
}

/** `kill: 3, freeze: 1`; in the given order, and others after that. */
function countsOf(faults, valueOf, order, sign) {
  const rank = (value) => (order.includes(value) ? order.indexOf(value) : order.length);
  return [...Map.groupBy(faults, valueOf)]
    .sort(([one], [other]) => rank(one) - rank(other))
    .map(([value, times]) => `${value}${sign}${times.length}`)
    .join(', ');
}

function runOf(suite, faults) {
  const told = (valueOf) => [
    ...new Set(faults.map((fault) => String(valueOf(fault) ?? NOT_NOTED))),
  ];
  return [
    suite,
    ...[roundsOf, ({ from }) => from?.seed, ({ from }) => from?.commit].map((valueOf) =>
      told(valueOf).join(', '),
    ),
  ];
}

/**
 * A run of `npm test` is a sample.
 *
 * @returns {string | undefined} why the run may not be written; undefined when no suite ran in
 *   fewer rounds than its rows in the document
 */
export function whyNot(document, ran) {
  const known = tablesIn(partsOf(document).old).runs;
  const fewer = ran.runs.flatMap(([suite, rounds]) => {
    const [, published] = known.find(([name]) => name === suite) ?? [suite, NOT_NOTED];
    return roundsIn(rounds) < roundsIn(published)
      ? [
          `the suite ${suite} ran in fewer rounds (${rounds}) than its rows in the document (${published})`,
        ]
      : [];
  });
  if (fewer.length === 0) return undefined;
  return `${fewer.join('; ')}: nothing is written. --fewer-rounds replaces them all the same, --from without another run`;
}

/** @throws Error when the document has no marks */
export function withTables(document, ran) {
  const { before, old, after } = partsOf(document);
  const known = tablesIn(old);
  const rows = merged(known.rows, ran.rows);
  const suites = [...new Set(rows.map(([suite]) => suite))];
  const runs = merged(known.runs, ran.runs);
  const all = suites.map(
    (suite) => runs.find(([name]) => name === suite) ?? [suite, ...RUNS.slice(1).fill(NOT_NOTED)],
  );
  return `${before}${BEGIN}\n\n${textOf({ rows, runs: all })}\n\n${END}${after}`;
}

export function textOf({ rows, runs }) {
  const shown = rows.map((row) => [...row, ...endOf(row[0])]);
  return `${tableText(SHOWN, shown)}\n\n${tableText(RUNS, runs)}`;
}

/** @throws Error for a suite that ENDS does not have */
function endOf(suite) {
  const end = ENDS[suite];
  if (end === undefined) throw new Error(`say in ENDS how faults of the suite ${suite} end`);
  return end;
}

function partsOf(document) {
  const [before, rest = ''] = document.split(BEGIN);
  const [old, after] = rest.split(END);
  if (after === undefined) throw new Error('there are no marks for the table');
  return { before, old, after };
}

function roundsOf({ from }) {
  return from?.rounds === 0 ? AS_TESTED : from?.rounds;
}

/** Without a number, less than any. */
function roundsIn(cell) {
  const numbers = { [NOT_NOTED]: -1, [AS_TESTED]: 0 };
  return Math.max(...cell.split(', ').map((one) => numbers[one] ?? Number(one)));
}

/** At the place of the first one; new suites come last. */
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
