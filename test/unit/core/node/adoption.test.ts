import { driftStatus, type DriftReport } from '../../../../core/drift';
import { adoptionOf } from '../../../../core/node/adoption';
import type { MachineConfigNode, Node } from '../../../../core/node/types';
import type { Condition } from '../../../../core/object-meta';
import { A, aNewNode, aNode, B } from '../pool/builders';

const T0 = '2030-01-01T00:00:00Z';
const T1 = '2030-01-01T00:01:00Z';

const CLEAN: DriftReport = { config: A, findings: [], count: 0, repairs: [], forced: false };
const DRIFTED: DriftReport = {
  ...CLEAN,
  findings: [{ path: '/etc/a', kind: 'missing', detail: '/etc/a is missing', since: T0 }],
  count: 1,
};
const DONE_ON_A = {
  'machineconfiguration.openshift.io/currentConfig': A,
  'machineconfiguration.openshift.io/desiredConfig': A,
  'machineconfiguration.openshift.io/state': 'Done',
  'machineconfiguration.openshift.io/reason': '',
};

/** The host's report, at T0 by default. */
function reported(
  report: DriftReport,
  { at = T0, owner = 'uid-new' }: { readonly at?: string; readonly owner?: string } = {},
  others: readonly Condition[] = [],
): MachineConfigNode {
  const { condition, drift } = driftStatus('new', report, undefined, at);
  return {
    metadata: {
      name: 'new',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'new', uid: owner }],
    },
    spec: {
      node: { name: 'new' },
      pool: { name: 'worker' },
      configVersion: { desired: 'not-yet-set' },
    },
    status: { conditions: [...others, condition], drift },
  };
}

function withUid(node: Node): Node {
  return { ...node, metadata: { ...node.metadata, uid: `uid-${node.metadata.name}` } };
}

const NEW = withUid(aNewNode('new'));

/** Failed on B before any config was verified on it. */
function failedOnB(more: Readonly<Record<string, string>> = {}): Node {
  const { metadata, ...rest } = NEW;
  const annotations = {
    'machineconfiguration.openshift.io/desiredConfig': B,
    'machineconfiguration.openshift.io/state': 'Degraded',
    'machineconfiguration.openshift.io/reason': 'HostUnreachable: not picked up',
    ...more,
  };
  return { ...rest, metadata: { ...metadata, annotations } };
}

const failedAt = (lastTransitionTime: string): Condition => ({
  type: 'NodeDegraded',
  status: 'True',
  reason: 'HostUnreachable',
  message: '',
  lastTransitionTime,
});

describe('a node that no config was ever verified on', () => {
  it('is on what its host came with', () => {
    expect(adoptionOf(NEW, reported(CLEAN))).toEqual({ config: A, annotations: DONE_ON_A });
  });

  it('is Degraded at once when its disk is not as that says', () => {
    expect(adoptionOf(NEW, reported(DRIFTED))?.annotations).toEqual({
      ...DONE_ON_A,
      'machineconfiguration.openshift.io/state': 'Degraded',
      'machineconfiguration.openshift.io/reason': `unexpected on-disk state validating against ${A}: /etc/a is missing`,
    });
  });

  it('says nothing before its host has reported, and nothing from the host of an earlier Node', () => {
    const silent = { ...reported(CLEAN), status: { conditions: [] } };

    expect(adoptionOf(NEW, undefined)).toBeUndefined();
    expect(adoptionOf(NEW, silent)).toBeUndefined();
    expect(adoptionOf(NEW, reported(CLEAN, { owner: 'uid-of-another' }))).toBeUndefined();
  });

  it('says nothing before its kubelet is there', () => {
    const { metadata } = NEW;
    const unready = { ...aNewNode('new', { ready: 'False' }), metadata };

    expect(adoptionOf(unready, reported(CLEAN))).toBeUndefined();
    expect(adoptionOf({ metadata, status: {} }, reported(CLEAN))).toBeUndefined();
  });

  it('is left to an update that has begun', () => {
    const { metadata, ...rest } = NEW;
    const annotations = {
      'machineconfiguration.openshift.io/desiredConfig': B,
      'machineconfiguration.openshift.io/state': 'Working',
    };

    expect(
      adoptionOf({ ...rest, metadata: { ...metadata, annotations } }, reported(CLEAN)),
    ).toBeUndefined();
  });

  it.each(['HostUnreachable: not picked up', 'ConfigFetchFailed: refused', 'ConfigForbidden: 403'])(
    'that failed before its host was heard (%s) says it as soon as the host is',
    (reason) => {
      const failed = failedOnB({ 'machineconfiguration.openshift.io/reason': reason });
      const later = reported(CLEAN, { at: T1 }, [failedAt(T0)]);
      const earlier = reported(CLEAN, { at: T0 }, [failedAt(T1)]);

      expect(adoptionOf(failed, later)?.annotations).toEqual(DONE_ON_A);
      expect(adoptionOf(failed, earlier)).toBeUndefined();
    },
  );

  it('that failed for another reason keeps it, unless it is by now where it should be', () => {
    const refused = failedOnB({
      'machineconfiguration.openshift.io/reason': `ConfigDrift: unexpected on-disk state validating against ${B}: x`,
    });

    expect(adoptionOf(refused, reported(CLEAN, { at: T1 }, [failedAt(T0)]))).toBeUndefined();
    const onB = reported({ ...CLEAN, config: B }, { at: T1 }, [failedAt(T0)]);
    expect(adoptionOf(refused, onB)).toMatchObject({ config: B });
  });

  it('that was left out of service by an update stays so', () => {
    const cordoned = failedOnB({ 'slipway.dev/cordoned-by': 'update-node/new' });

    expect(adoptionOf(cordoned, reported(CLEAN, { at: T1 }, [failedAt(T0)]))).toBeUndefined();
  });
});

it('a node that has a config keeps it, whatever its host says', () => {
  expect(adoptionOf(withUid(aNode('new', { current: B })), reported(CLEAN))).toBeUndefined();
});
