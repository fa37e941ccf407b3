import {
  allThere,
  pinnedConditions,
  pinnedOfPool,
  type PinnedImageSet,
  type PinnedReport,
  pinnedRefusals,
  sealedImages,
} from '../../../../core/pinned-images';
import type { Condition, LabelSelector } from '../../../../core/object-meta';
import type { MachineConfigPool } from '../../../../core/pool/types';

const image = (digit: string): string => `registry.example.com/app@sha256:${digit.repeat(64)}`;
const aSet = (...names: readonly unknown[]): object => ({
  spec: { pinnedImages: names.map((name) => ({ name })) },
});
const pool = (...sets: readonly string[]): MachineConfigPool => ({
  metadata: { name: 'worker' },
  spec: { pinnedImageSets: sets.map((name) => ({ name })) },
});
const named = (sets: Readonly<Record<string, object>>): readonly PinnedImageSet[] =>
  Object.entries(sets).map(([name, set]) => ({ metadata: { name }, ...set }));

describe('the pinned images of a pool', () => {
  it('are those of all its sets, sorted, each once', () => {
    const sets = { a: aSet(image('3'), image('1')), b: aSet(image('2'), image('1')) };
    const { pinned, problems } = pinnedOfPool(pool('a', 'b'), named(sets));
    expect(pinned).toEqual(sealedImages('worker', [image('1'), image('2'), image('3')]));
    expect(problems).toEqual([]);
  });

  it('are none without sets, and have a digest of their own', () => {
    const none = pinnedOfPool(
      { metadata: { name: 'worker' }, spec: {} },
      named({ a: aSet(image('1')) }),
    );
    expect(none.pinned.images).toEqual([]);
    expect(none.pinned.digest).not.toBe(sealedImages('worker', [image('1')]).digest);
    expect(none.problems).toEqual([]);
  });

  it('leave out what no host could take, and say so', () => {
    const sets = { a: aSet(image('1'), 'registry.example.com/app:latest', null) };
    const { pinned, problems } = pinnedOfPool(pool('gone', 'a'), named(sets));
    expect(pinned.images).toEqual([image('1')]);
    expect(problems).toEqual([
      'machineconfigpool worker: spec.pinnedImageSets[0].name: there is no PinnedImageSet gone; make it, or remove the entry',
      expect.stringContaining(
        'PinnedImageSet a: spec.pinnedImages[1].name: the image has no digest',
      ),
      expect.stringContaining('PinnedImageSet a: spec.pinnedImages[2].name: is missing'),
    ]);
  });

  it('are also those of sets with labels that its selector matches, as MCO has them', () => {
    const role = 'machineconfiguration.openshift.io/role';
    const sets = ['worker', 'infra', 'master'].map((name, index) => ({
      metadata: { name, labels: { [role]: name } },
      ...aSet(image(String(index + 1))),
    }));
    const imagesOf = (machineConfigSelector?: LabelSelector) => {
      const selector = machineConfigSelector === undefined ? {} : { machineConfigSelector };
      const spec = { pinnedImageSets: [{ name: 'master' }], ...selector };
      return pinnedOfPool({ metadata: { name: 'infra' }, spec }, sets).pinned.images;
    };
    const matchExpressions = [{ key: role, operator: 'In', values: ['worker', 'infra'] }];
    expect(imagesOf({ matchExpressions })).toEqual([image('1'), image('2'), image('3')]);
    expect(imagesOf({ matchLabels: { [role]: 'infra' } })).toEqual([image('2'), image('3')]);
    expect(imagesOf({})).toEqual([image('3')]);
    expect(imagesOf()).toEqual([image('3')]);
    expect(imagesOf({ matchExpressions: [{ key: role, operator: 'Odd' }] })).toEqual([image('3')]);
  });

  it('are cut where they are more than a host takes', () => {
    const many = Array.from({ length: 501 }, (_, index) =>
      image('0').replace(/0{3}$/, String(index).padStart(3, '0')),
    );
    const { pinned, problems } = pinnedOfPool(pool('a'), named({ a: aSet(...many) }));
    expect(pinned.images).toHaveLength(500);
    expect(problems).toEqual([expect.stringContaining('501 images, and hosts take 500')]);
  });
});

it('refuses a set with an image by tag, at its place', () => {
  const { spec } = aSet(image('1'), 'registry.example.com/app:latest') as { spec: unknown };
  expect(pinnedRefusals(spec)).toMatchObject([{ path: ['spec', 'pinnedImages', 1, 'name'] }]);
});

describe('the conditions of a node', () => {
  const NOW = '2030-01-01T00:00:00Z';
  const pinned = sealedImages('worker', [image('1'), image('2')]);
  const NONE = sealedImages('worker', []);

  function conditionsOf(
    report: PinnedReport,
    given: { pinned?: typeof pinned; problems?: readonly string[] } = {},
    shown: readonly Condition[] = [],
  ): readonly Condition[] {
    const known = { status: { conditions: shown } };
    return pinnedConditions(report, { pinned, problems: [], ...given }, known, NOW);
  }
  const texts = (conditions: readonly Condition[]) =>
    conditions.map(
      ({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`,
    );

  it('count the images that are there', () => {
    expect(texts(conditionsOf({ given: pinned.digest, present: 1 }))).toEqual([
      'PinnedImageSetsProgressing True ImagePrefetch: 1 of 2 pinned images are there',
      'PinnedImageSetsDegraded False AsExpected: no pinned image has failed',
    ]);
    expect(texts(conditionsOf({ given: pinned.digest, present: 2 }))[0]).toBe(
      `PinnedImageSetsProgressing False AsExpected: ${allThere(pinned)}`,
    );
  });

  it('do not believe a report about other images', () => {
    const [progressing, degraded] = conditionsOf({
      given: NONE.digest,
      present: 2,
      problem: 'old',
    });
    expect(progressing).toMatchObject({
      status: 'True',
      message: '0 of 2 pinned images are there',
    });
    expect(degraded?.status).toBe('False');
    // It has not unpinned them yet.
    const earlier = { given: pinned.digest, present: 2 };
    const [toUnpin] = conditionsOf(earlier, { pinned: NONE }, conditionsOf(earlier));
    expect(toUnpin).toMatchObject({ status: 'True', message: '0 of 0 pinned images are there' });
  });

  it('name what the host and the sources say', () => {
    const report = { given: pinned.digest, present: 1, problem: 'image b: no room' };
    const [, degraded] = conditionsOf(report, { problems: ['there is no set c'] });
    expect(degraded).toMatchObject({
      ...{ status: 'True', reason: 'PrefetchFailed' },
      message: 'image b: no room; there is no set c',
    });
  });

  it('are none for a node that never had pinned images, and end with the images', () => {
    expect(conditionsOf({ present: 0 }, { pinned: NONE })).toEqual([]);
    const shown = conditionsOf({ given: pinned.digest, present: 1 });
    expect(
      texts(conditionsOf({ given: NONE.digest, present: 0 }, { pinned: NONE }, shown)),
    ).toEqual([
      `PinnedImageSetsProgressing False AsExpected: ${allThere(NONE)}`,
      'PinnedImageSetsDegraded False AsExpected: no pinned image has failed',
    ]);
  });

  it('keep their time while their status stays', () => {
    const old = '2029-01-01T00:00:00Z';
    const shown = conditionsOf({ given: pinned.digest, present: 0 }).map((one) => ({
      ...one,
      lastTransitionTime: old,
    }));
    const next = conditionsOf({ given: pinned.digest, present: 2 }, {}, shown);
    expect(next.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([NOW, old]);
  });
});
