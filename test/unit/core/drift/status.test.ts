import {
  driftAnnotations,
  driftDegradation,
  driftStatus,
  isShown,
  resolveDriftPolicy,
} from '../../../../core/drift';
import type { DriftReport } from '../../../../core/drift';
import { ANNOTATION } from '../../../../core/names';
import type { MachineConfigNode, Node } from '../../../../core/node/types';
import type { Condition } from '../../../../core/object-meta';

const CONFIG = 'rendered-worker-1';
const T0 = '2030-01-01T00:00:00Z';
const T1 = '2030-01-01T00:01:00Z';
const T2 = '2030-01-01T00:02:00Z';

const CLEAN: DriftReport = { config: CONFIG, findings: [], count: 0, repairs: [], forced: false };
const DRIFTED: DriftReport = {
  ...CLEAN,
  findings: [{ path: '/etc/a', kind: 'missing', detail: '/etc/a is missing', since: T0 }],
  count: 3,
};
const MESSAGE = `unexpected on-disk state validating against ${CONFIG}: /etc/a is missing; and 2 more`;

function shown(report: DriftReport, now: string, others: readonly Condition[] = []) {
  const { condition, drift } = driftStatus('worker-1', report, undefined, now);
  return {
    metadata: { name: 'worker-1' },
    spec: {
      node: { name: 'worker-1' },
      pool: { name: 'worker' },
      configVersion: { desired: CONFIG },
    },
    status: { conditions: [...others, condition], drift },
  } satisfies MachineConfigNode;
}

function aNode(state: string, reason = '', desired = CONFIG): Node {
  return {
    metadata: {
      name: 'worker-1',
      annotations: {
        [ANNOTATION.CURRENT_CONFIG]: CONFIG,
        [ANNOTATION.DESIRED_CONFIG]: desired,
        [ANNOTATION.STATE]: state,
        [ANNOTATION.REASON]: reason,
      },
    },
  };
}

describe('drift on a MachineConfigNode', () => {
  it('leaves out its last findings where all would not fit into the message of a condition', () => {
    const [finding] = DRIFTED.findings;
    const findings = Array.from({ length: 20 }, (_, index) => ({
      ...{ since: T0, kind: 'content' as const, ...finding },
      path: `/etc/${index}/${'p'.repeat(500)}`,
      detail: '"'.repeat(1024),
    }));
    const { drift } = driftStatus('worker-1', { ...DRIFTED, findings, count: 20 }, undefined, T0);

    expect(JSON.stringify(drift).length).toBeLessThanOrEqual(32_768);
    expect(drift.count).toBe(20);
    expect(drift.findings).toEqual(findings.slice(0, 12));
  });

  it('names the first thing and counts the others', () => {
    expect(driftStatus('worker-1', DRIFTED, undefined, T0).condition).toEqual({
      type: 'Drifted',
      status: 'True',
      reason: 'ConfigDrift',
      message: MESSAGE,
      lastTransitionTime: T0,
    });
  });

  it('keeps the transition time while the status is the same', () => {
    const before = driftStatus('worker-1', DRIFTED, undefined, T0).condition;
    const more = { ...DRIFTED, count: 4 };
    expect(driftStatus('worker-1', more, before, T1).condition.lastTransitionTime).toBe(T0);
    expect(driftStatus('worker-1', CLEAN, before, T1).condition.lastTransitionTime).toBe(T1);
  });

  it('says how to go on when somebody has made the force file', () => {
    const { condition } = driftStatus('worker-1', { ...CLEAN, forced: true }, undefined, T0);
    expect(condition).toMatchObject({ status: 'True', reason: 'ForceRequested' });
    expect(condition.message).toContain('slipway node retry worker-1');
  });

  it('is the same in whatever order the API server keeps its fields', () => {
    const known = shown(DRIFTED, T0);
    const sorted = JSON.parse(
      JSON.stringify(known, Object.keys({ ...flat(known) }).sort()),
    ) as MachineConfigNode;
    const member = { hasConfig: true };
    expect(isShown(sorted, driftStatus('worker-1', DRIFTED, undefined, T1), member)).toBe(true);
    expect(isShown(known, driftStatus('worker-1', CLEAN, undefined, T1), member)).toBe(false);
  });

  it('is not written when it never was, and not again with every config', () => {
    const never = { ...shown(CLEAN, T0), status: { conditions: [] } };
    const member = { hasConfig: true };
    expect(isShown(never, driftStatus('worker-1', CLEAN, undefined, T1), member)).toBe(true);
    const next = { ...CLEAN, config: 'rendered-worker-2' };
    const wanted = driftStatus('worker-1', next, undefined, T1);
    expect(isShown(shown(CLEAN, T0), wanted, member)).toBe(true);
  });

  it('says of a node without a config what it came with, once', () => {
    const never = { ...shown(CLEAN, T0), status: { conditions: [] } };
    const fresh = { hasConfig: false };
    expect(isShown(never, driftStatus('worker-1', CLEAN, undefined, T1), fresh)).toBe(false);
    expect(isShown(shown(CLEAN, T0), driftStatus('worker-1', CLEAN, undefined, T1), fresh)).toBe(
      true,
    );
    const next = { ...CLEAN, config: 'rendered-worker-2' };
    const wanted = driftStatus('worker-1', next, undefined, T1);
    expect(isShown(shown(CLEAN, T0), wanted, fresh)).toBe(false);
  });
});

/** Every key that occurs anywhere, for a replacer. */
function flat(value: unknown): Record<string, true> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.entries(value).reduce(
    (all, [key, inner]) => ({ ...all, [key]: true, ...flat(inner) }),
    {},
  );
}

describe('drift on a Node', () => {
  const degraded = { [ANNOTATION.STATE]: 'Degraded', [ANNOTATION.REASON]: MESSAGE };

  it('makes a node at rest Degraded, once', () => {
    expect(driftAnnotations(aNode('Done'), shown(DRIFTED, T0))).toEqual(degraded);
    expect(driftAnnotations(aNode('Degraded', MESSAGE), shown(DRIFTED, T0))).toBeUndefined();
  });

  it('cuts a long reason between two characters', () => {
    const [finding] = DRIFTED.findings;
    const reasonOf = (detail: string): string => {
      const long = { ...DRIFTED, findings: finding === undefined ? [] : [{ ...finding, detail }] };
      return driftAnnotations(aNode('Done'), shown(long, T0))?.[ANNOTATION.REASON] ?? '';
    };
    for (const lead of ['', 'a']) {
      const reason = reasonOf(`${lead}${'🚢'.repeat(1_000)}`);

      expect(reason).not.toMatch(/\p{Cs}/u);
      expect(reason.length).toBeGreaterThanOrEqual(1_999);
    }
  });

  it('leaves alone a node that is being updated, failed otherwise, or is on another config', () => {
    expect(driftAnnotations(aNode('Working'), shown(DRIFTED, T0))).toBeUndefined();
    expect(driftAnnotations(aNode('Done', '', 'rendered-2'), shown(DRIFTED, T0))).toBeUndefined();
    expect(
      driftAnnotations(aNode('Degraded', 'DrainTimedOut: …'), shown(DRIFTED, T0)),
    ).toBeUndefined();
    const older = shown({ ...DRIFTED, config: 'rendered-worker-0' }, T0);
    expect(driftAnnotations(aNode('Done'), older)).toBeUndefined();
    expect(driftAnnotations(aNode('Done'), undefined)).toBeUndefined();
  });

  it('makes it Done again when nothing differs any more', () => {
    const done = {
      [ANNOTATION.DESIRED_CONFIG]: CONFIG,
      [ANNOTATION.STATE]: 'Done',
      [ANNOTATION.REASON]: '',
    };
    expect(driftAnnotations(aNode('Degraded', MESSAGE), shown(CLEAN, T1))).toEqual(done);
    expect(driftAnnotations(aNode('Done'), shown(CLEAN, T1))).toBeUndefined();
    expect(driftAnnotations(aNode('Degraded', 'VerifyFailed: …'), shown(CLEAN, T1))).toBe(
      undefined,
    );
  });

  it('lets an update that was refused for it be tried again, but not on older news', () => {
    const refused = aNode('Degraded', `ConfigDrift: ${MESSAGE}`, 'rendered-2');
    const since = (lastTransitionTime: string): Condition => ({
      type: 'NodeDegraded',
      status: 'True',
      reason: 'ConfigDrift',
      message: '',
      lastTransitionTime,
    });
    expect(driftAnnotations(refused, shown(CLEAN, T1, [since(T2)]))).toBeUndefined();
    expect(driftAnnotations(refused, shown(CLEAN, T2, [since(T1)]))).toMatchObject({
      [ANNOTATION.DESIRED_CONFIG]: CONFIG,
      [ANNOTATION.STATE]: 'Done',
    });
  });
});

describe('the drift policy', () => {
  it('reports, as MCO does, unless a person says otherwise', () => {
    expect(resolveDriftPolicy(undefined)).toEqual({
      mode: 'Report',
      limit: 3,
      intervalSeconds: 3600,
    });
    expect(resolveDriftPolicy({ drift: 'Repair', repair: { intervalSeconds: 60 } })).toEqual({
      mode: 'Repair',
      limit: 3,
      intervalSeconds: 60,
    });
  });

  it('refuses what makes no sense', () => {
    expect(() => resolveDriftPolicy({ repair: { limit: 0 } })).toThrow(
      'rolloutpolicy: spec.repair.limit is 0, which is impossible; set a whole number of at least 1',
    );
  });
});

describe('drift in the NodeDegraded condition of a MachineConfigNode', () => {
  const says = (status: 'True' | 'False', reason: string, message = MESSAGE): Condition => ({
    ...{ type: 'NodeDegraded', status, reason, message, lastTransitionTime: T0 },
  });
  it('follows a Node that is Degraded because of it, at the time of the report', () => {
    const node = aNode('Degraded', MESSAGE);

    expect(driftDegradation(node, shown(DRIFTED, T0))).toEqual(says('True', 'ConfigDrift'));
    expect(driftDegradation(node, shown(DRIFTED, T0, [says('True', 'ConfigDrift')]))).toBe(
      undefined,
    );
  });

  it('is over once the Node is Done, unless something else had failed', () => {
    const over = { status: 'False', reason: 'AsExpected', lastTransitionTime: T1 };
    const known = shown(CLEAN, T1, [says('True', 'ConfigDrift')]);

    expect(driftDegradation(aNode('Done'), known)).toMatchObject(over);
    expect(driftDegradation(aNode('Degraded', MESSAGE), known)).toBeUndefined();
    const refused = shown(CLEAN, T1, [says('True', 'UpdateFailed', `ConfigDrift: ${MESSAGE}`)]);
    expect(driftDegradation(aNode('Done'), refused)).toMatchObject(over);
    const newer = {
      ...says('True', 'UpdateFailed', `ConfigDrift: ${MESSAGE}`),
      lastTransitionTime: T2,
    };
    expect(driftDegradation(aNode('Done'), shown(CLEAN, T1, [newer]))).toBeUndefined();
    const failed = shown(CLEAN, T1, [says('True', 'VerifyFailed', 'boom')]);
    expect(driftDegradation(aNode('Done'), failed)).toBeUndefined();
  });

  it('is left to the update of a node that is not at rest, and to another failure', () => {
    const known = shown(DRIFTED, T0);

    expect(driftDegradation(aNode('Done'), known)).toBeUndefined();
    expect(driftDegradation(aNode('Working'), known)).toBeUndefined();
    expect(driftDegradation(aNode('Degraded', 'VerifyFailed: …'), known)).toBeUndefined();
    const refused = aNode('Degraded', `ConfigDrift: ${MESSAGE}`, 'rendered-2');
    expect(driftDegradation(refused, known)).toBeUndefined();
    expect(driftDegradation(aNode('Degraded', MESSAGE), undefined)).toBeUndefined();
  });
});
