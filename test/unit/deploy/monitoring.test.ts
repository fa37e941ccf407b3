/** The alerts and the dashboard of deploy/monitoring ask for metrics that the code has, with its labels. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { readAlerts, readDashboard } from '../../support/monitoring';
import { metricOf, registeredMetrics } from '../docs/registered-metrics';

const registered = registeredMetrics();
const alerts = readAlerts();
const panels = readDashboard();
const queries = [
  ...alerts.map(({ alert, expr }) => ({ what: `alert ${alert}`, expr })),
  ...panels.flatMap(({ title, exprs }) => exprs.map((expr) => ({ what: `panel ${title}`, expr }))),
];

const METRIC = /\b(?:slipway|mco|mcc|os)_[a-z_]+\b/g;
const labelsOf = (name: string): readonly string[] => [...(registered.get(name) ?? []), 'le'];

it('has alerts and panels', () => {
  expect(alerts.length).toBeGreaterThan(8);
  expect(panels.length).toBeGreaterThan(15);
});

describe.each(queries)('$what', ({ expr }) => {
  const metrics = [...expr.matchAll(METRIC)].map(([series]) => metricOf(series));

  it('asks for metrics that the code registers', () => {
    expect(metrics).not.toEqual([]);
    for (const name of metrics) expect([name, registered.has(name)]).toEqual([name, true]);
  });

  it('groups and selects by labels that they have', () => {
    const known = metrics.flatMap(labelsOf);
    const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)]
      .flatMap(([, labels = '']) => labels.split(', '))
      .filter((label) => label !== '');
    const selected = [...expr.matchAll(/([a-z]+)(?:=~|=|!=)"/g)].map(([, label = '']) => label);
    for (const label of [...grouped, ...selected]) expect(known).toContain(label);
  });
});

describe('each alert', () => {
  const operations = readFileSync(join(repositoryRoot(), 'docs', 'operations.md'), 'utf8');

  it.each(alerts)('$alert is explained in docs/operations.md, and says what to do', (alert) => {
    expect(operations).toContain(`| \`${alert.alert}\` `);
    expect(alert.labels['severity']).toMatch(/^(?:warning|critical)$/);
    expect(alert.annotations['summary']).toMatch(/\.$/);
    expect(alert.annotations['description']).toMatch(/`(?:slipway|kubectl) |docs\//);
  });

  it('is all that docs/operations.md explains', () => {
    const explained = [...operations.matchAll(/^\| `((?:MCC|Slipway)\w+)` /gm)].map(
      ([, name]) => name,
    );

    expect(explained.sort()).toEqual(alerts.map(({ alert }) => alert).sort());
  });
});

it('names each panel once, and lays none over another', () => {
  const titles = panels.map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);

  for (const [index, one] of panels.entries()) {
    for (const other of panels.slice(index + 1)) {
      const isApart =
        one.x + one.w <= other.x ||
        other.x + other.w <= one.x ||
        one.y + one.h <= other.y ||
        other.y + other.h <= one.y;
      expect([one.title, other.title, isApart]).toEqual([one.title, other.title, true]);
    }
  }
});
