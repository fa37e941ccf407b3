/** `slipway drift NODE`: what the host of a node reported last. */

import { driftCondition, resolveDriftPolicy, type DriftPolicy } from '../../core/drift';
import type { DriftFinding, DriftRepair } from '../../core/drift';
import { fewLines } from '../../core/few';
import { currentConfigOf } from '../../core/node/predicates';
import { failureName, messageOf } from '../../core/errors';
import { primaryPoolForNode } from '../../core/pool';
import { formatAge, formatDuration } from '../durations';
import type { ExitCode } from '../exit-codes';
import { cliError, EXIT } from '../exit-codes';
import { type OutputFormat, printData } from '../output';
import type { CliContext, ClusterView } from '../ports';
import { formatTable } from '../table';

interface DriftView {
  readonly node: string;
  readonly pool?: string;
  readonly drifted: boolean;
  /** Absent = the node never drifted. */
  readonly config?: string;
  readonly reason?: string;
  readonly since?: string;
  readonly policy: DriftPolicy;
  readonly count: number;
  readonly findings: readonly DriftFinding[];
  readonly repairs: readonly DriftRepair[];
  readonly forced: boolean;
  readonly unrepaired?: string;
}

/** Exit 4 on drift, or when a full re-apply is requested. */
export async function showDrift(
  context: CliContext,
  name: string,
  output: OutputFormat,
): Promise<ExitCode> {
  const view = driftView(await (await context.cluster()).read(), name);
  if (output === 'json' || output === 'yaml') printData(view, output, context.terminal);
  else print(context, view);
  return view.drifted ? EXIT.FAILED : EXIT.OK;
}

function driftView(view: ClusterView, name: string): DriftView {
  const node = view.nodes.find(({ metadata }) => metadata.name === name);
  if (node === undefined) throw cliError(EXIT.NOT_FOUND, `node ${name} not found`);
  const pool = primaryPoolForNode(node, view.pools)?.metadata.name;
  const known = view.machineConfigNodes.get(name);
  const condition = driftCondition(known);
  const drift = known?.status?.drift;
  const drifted = condition?.status === 'True';
  // A host without drift does not report after each update, so its report may name an older config.
  const config = drifted ? drift?.config : (currentConfigOf(node) ?? drift?.config);
  return {
    node: name,
    ...(pool === undefined ? {} : { pool }),
    drifted,
    ...(config === undefined ? {} : { config }),
    ...(drifted ? { reason: condition.message } : {}),
    ...(condition?.lastTransitionTime === undefined ? {} : { since: condition.lastTransitionTime }),
    policy: policyOf(view, pool),
    count: drift?.count ?? 0,
    findings: drift?.findings ?? [],
    repairs: drift?.repairs ?? [],
    forced: drift?.forced ?? false,
    ...(drift?.unrepaired === undefined ? {} : { unrepaired: drift.unrepaired }),
  };
}

/** As the server does. */
function policyOf(view: ClusterView, pool: string | undefined): DriftPolicy {
  try {
    return resolveDriftPolicy(view.policies.find(({ metadata }) => metadata.name === pool)?.spec);
  } catch (error) {
    if (failureName(error) === undefined) throw error;
    throw cliError(EXIT.FAILED, messageOf(error));
  }
}

function print(context: CliContext, view: DriftView): void {
  const { out, style } = context.terminal;
  const now = context.now();
  const row = (label: string, value: string | undefined): readonly string[] =>
    value === undefined ? [] : [`${`${label}:`.padEnd(17)}${value}`];
  const drifted = view.drifted ? style.red(`yes, for ${formatAge(view.since, now)}`) : 'no';
  const lines = [
    ...row('Node', style.bold(view.node)),
    ...row('Pool', view.pool),
    ...row('Config', view.config),
    ...row('Drifted', drifted),
    ...row('Policy', policyText(view.policy)),
    ...row('Left', view.unrepaired),
    ...row('Force file', view.forced ? `there; slipway node retry ${view.node}` : undefined),
    ...findingLines(view, now),
    ...repairLines(view, now),
  ];
  out.write(`${lines.join('\n')}\n`);
}

function policyText({ mode, limit, intervalSeconds }: DriftPolicy): string {
  if (mode === 'Report') return mode;
  return `Repair, a path at most ${limit} times in ${formatDuration(intervalSeconds)}`;
}

function findingLines({ findings, count }: DriftView, now: number): readonly string[] {
  if (findings.length === 0) return [];
  const rows = formatTable<DriftFinding>(
    [
      { header: 'PATH', value: ({ path, kind }) => path || kind },
      { header: 'DIFFERS', value: ({ kind }) => kind },
      { header: 'FOR', value: ({ since }) => formatAge(since, now) },
      { header: 'WHAT', value: ({ detail }) => detail },
    ],
    findings,
    { wide: false },
  );
  const most = rows.length;
  return ['', ...fewLines(rows, { most, total: most + count - findings.length })];
}

function repairLines({ repairs }: DriftView, now: number): readonly string[] {
  if (repairs.length === 0) return [];
  return [
    '',
    ...formatTable<DriftRepair>(
      [
        { header: 'REPAIRED', value: ({ path }) => path },
        { header: 'AGO', value: ({ at }) => formatAge(at, now) },
      ],
      repairs,
      { wide: false },
    ),
  ];
}
