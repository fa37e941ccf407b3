import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { type MetricLabels, metricOf, registeredMetrics } from './registered-metrics';

const page = readFileSync(join(repositoryRoot(), 'docs', 'metrics.md'), 'utf8');
const [present = '', rest = ''] = page.split('\n## Metrics of MCO that Slipway does not have\n');
const [absent = '', queries = ''] = rest.split('\n## Queries\n');
const registered = registeredMetrics();
const documented = rowsOf(present);

/** Rows of the tables of metrics: a name, its labels. */
function rowsOf(tables: string): MetricLabels {
  const rows = [...tables.matchAll(/^\| `([a-z_]+)` +\| ([^|]*)\|/gm)];
  return new Map(rows.map(([, name = '', labels = '']) => [name, namesIn(labels)]));
}

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name);
}

describe('docs/metrics.md', () => {
  it('has every metric that the code registers, and no other', () => {
    expect([...documented.keys()].sort()).toEqual([...registered.keys()].sort());
  });

  it.each([...registered])('has the labels of %s', (name, labels) => {
    expect([...(documented.get(name) ?? [])].sort()).toEqual([...labels].sort());
  });

  it('calls none missing that is there', () => {
    const missing = [...rowsOf(absent).keys()];

    expect(missing.length).toBeGreaterThan(5);
    expect(missing.filter((name) => registered.has(name))).toEqual([]);
  });

  it('asks in its queries for metrics that are there', () => {
    const asked = [...queries.matchAll(/\b(?:slipway|mco|mcc)_[a-z_]+\b/g)].map(([series]) =>
      metricOf(series),
    );

    expect(asked.length).toBeGreaterThan(8);
    for (const name of asked) expect([name, registered.has(name)]).toEqual([name, true]);
  });
});
