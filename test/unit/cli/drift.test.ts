import { showDrift } from '../../../cli/commands/drift';
import { EXIT } from '../../../cli/exit-codes';
import type { CliCluster, CliContext } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import { driftStatus, type DriftReport } from '../../../core/drift';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicySpec } from '../../../core/pool/types';
import { aView } from './cluster-view';

const POOL: MachineConfigPool = {
  metadata: { name: 'worker' },
  spec: { nodeSelector: { matchLabels: { role: 'worker' } } },
};
const NODE: Node = { metadata: { name: 'n1', labels: { role: 'worker' } } };
const NOW = Date.parse('2030-01-01T01:00:00Z');
const REPORT: DriftReport = {
  config: 'rendered-worker-1',
  findings: [
    {
      path: '/etc/a',
      kind: 'content',
      detail: 'content mismatch for file "/etc/a"',
      since: '2030-01-01T00:55:00Z',
    },
  ],
  count: 3,
  repairs: [{ path: '/etc/b', at: '2030-01-01T00:30:00Z' }],
  forced: false,
  unrepaired: 'not repaired: /etc/a takes effect at a reboot only',
};

function given(report: DriftReport | undefined, policy?: RolloutPolicySpec) {
  const written: string[] = [];
  const spec = {
    node: { name: 'n1' },
    pool: { name: 'worker' },
    configVersion: { desired: 'rendered-worker-1' },
  };
  const shown =
    report === undefined ? undefined : driftStatus('n1', report, undefined, '2030-01-01T00:55:00Z');
  const state: MachineConfigNode = {
    metadata: { name: 'n1' },
    spec,
    ...(shown === undefined
      ? {}
      : { status: { conditions: [shown.condition], drift: shown.drift } }),
  };
  const cluster: Partial<CliCluster> = {
    read: async () =>
      aView({
        pools: [POOL],
        nodes: [NODE],
        machineConfigNodes: new Map([['n1', state]]),
        policies: policy === undefined ? [] : [{ metadata: { name: 'worker' }, spec: policy }],
      }),
  };
  const stream = { write: (text: string) => written.push(text) };
  const streams = { out: stream, err: stream } as unknown as Parameters<typeof openTerminal>[0];
  const context: Partial<CliContext> = {
    terminal: openTerminal(streams, { color: false, env: {} }),
    now: () => NOW,
    cluster: async () => cluster as CliCluster,
  };
  return { context: context as CliContext, text: () => written.join('') };
}

describe('slipway drift', () => {
  it('lists what differs, for how long, and what was repaired', async () => {
    const { context, text } = given(REPORT, { drift: 'Repair' });

    expect(await showDrift(context, 'n1', 'table')).toBe(EXIT.FAILED);

    expect(text()).toBe(
      [
        'Node:            n1',
        'Pool:            worker',
        'Config:          rendered-worker-1',
        'Drifted:         yes, for 5m0s',
        'Policy:          Repair, a path at most 3 times in 1h0m',
        'Left:            not repaired: /etc/a takes effect at a reboot only',
        '',
        'PATH     DIFFERS   FOR    WHAT',
        '/etc/a   content   5m0s   content mismatch for file "/etc/a"',
        'and 2 more',
        '',
        'REPAIRED   AGO',
        '/etc/b     30m0s',
        '',
      ].join('\n'),
    );
  });

  it('ends well for a node that is as its config says, or never said otherwise', async () => {
    const clean = given({ ...REPORT, findings: [], count: 0, repairs: [] });
    expect(await showDrift(clean.context, 'n1', 'table')).toBe(EXIT.OK);
    expect(clean.text()).toContain('Drifted:         no\n');
    const never = given(undefined);
    expect(await showDrift(never.context, 'n1', 'table')).toBe(EXIT.OK);
  });

  it('prints all of it for programs', async () => {
    const { context, text } = given(REPORT);

    await showDrift(context, 'n1', 'json');

    expect(JSON.parse(text())).toMatchObject({
      node: 'n1',
      drifted: true,
      since: '2030-01-01T00:55:00Z',
      policy: { mode: 'Report' },
      count: 3,
      findings: REPORT.findings,
      repairs: REPORT.repairs,
    });
  });

  it('does not find a node that is not there', async () => {
    await expect(showDrift(given(REPORT).context, 'n2', 'table')).rejects.toMatchObject({
      exitCode: EXIT.NOT_FOUND,
      message: 'node n2 not found',
    });
  });
});
