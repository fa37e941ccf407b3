/** The alerts and the dashboard of deploy/monitoring, and how the operator of Prometheus scrapes. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { repositoryRoot } from '../../tools/repository-root';

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What Prometheus calls a rule file. */
export interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Alert[] }[];
}

export interface Panel {
  readonly title: string;
  readonly exprs: readonly string[];
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const read = (file: string, folder = 'monitoring'): string =>
  readFileSync(join(repositoryRoot(), 'deploy', folder, file), 'utf8');

/** The operator of Prometheus makes the same file of the manifest. */
export function readRuleFile(): RuleFile {
  const { spec } = parse(read('alerts.yaml')) as { readonly spec: RuleFile };
  return spec;
}

/** Whether a label of a metric stays where the target has one of the same name. */
export function honorsLabels(): boolean {
  const [, monitor] = parseAllDocuments(read('service-monitor.yaml', 'components/service-monitor'));
  return monitor?.getIn(['spec', 'endpoints', 0, 'honorLabels']) === true;
}

export function readAlerts(): readonly Alert[] {
  return readRuleFile().groups.flatMap(({ rules }) => rules);
}

export function readDashboard(): readonly Panel[] {
  const { panels } = JSON.parse(read('dashboard.json')) as {
    readonly panels: readonly {
      readonly title: string;
      readonly gridPos: Omit<Panel, 'title' | 'exprs'>;
      readonly targets?: readonly { readonly expr: string }[];
    }[];
  };
  return panels
    .filter(({ targets }) => targets !== undefined)
    .map(({ title, gridPos, targets = [] }) => ({
      title,
      ...gridPos,
      exprs: targets.map(({ expr }) => expr),
    }));
}
