/** `promtool` tests the alerts: test/fixtures/monitoring/alerts.yaml has the cases. */

import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { ensureBinary } from '../../tools/binaries';
import { repositoryRoot } from '../../tools/repository-root';
import { readAlerts, readRuleFile } from '../support/monitoring';

const run = promisify(execFile);
const CASES = join(repositoryRoot(), 'test', 'fixtures', 'monitoring', 'alerts.yaml');

interface Cases {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly object[];
    }[];
  }[];
}

/** It may have to be built. */
const BUILD_MS = 900_000;

let directory = '';
let promtool = '';

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-alerts-'));
  writeFileSync(join(directory, 'rules.yaml'), stringify(readRuleFile()));
  cpSync(CASES, join(directory, 'alerts.yaml'));
  promtool = await ensureBinary('promtool');
}, BUILD_MS);

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** @throws Error with what promtool says */
const check = async (...args: readonly string[]): Promise<string> =>
  (await run(promtool, args, { cwd: directory })).stdout;

it('are rules that Prometheus takes', async () => {
  const said = await check('check', 'rules', '--lint=all', '--lint-fatal', 'rules.yaml');

  expect(said).toContain(`${readAlerts().length} rules found`);
});

it('fire, and do not fire, as the cases say', async () => {
  expect(await check('test', 'rules', 'alerts.yaml')).toContain('SUCCESS');
});

it('would fail a case that says something else', async () => {
  const text = readFileSync(CASES, 'utf8').replace('node: worker-1 }', 'node: other }');
  writeFileSync(join(directory, 'wrong.yaml'), text);

  await expect(check('test', 'rules', 'wrong.yaml')).rejects.toThrow('MCCDrainError');
});

it.each(readAlerts())(
  '$alert has a case in which it fires, and one in which it does not',
  (one) => {
    const { tests } = parse(readFileSync(CASES, 'utf8')) as Cases;
    const judged = tests
      .flatMap(({ alert_rule_test }) => alert_rule_test)
      .filter(({ alertname }) => alertname === one.alert);

    expect(judged.some(({ exp_alerts }) => exp_alerts.length > 0)).toBe(true);
    expect(judged.some(({ exp_alerts }) => exp_alerts.length === 0)).toBe(true);
  },
);
