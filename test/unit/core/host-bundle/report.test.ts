import { bundleCondition, type BundleReport, olderCondition } from '../../../../core/host-bundle';

const DIGEST = 'a'.repeat(64);
const OLD = 'b'.repeat(64);
const NOW = '2030-01-01T00:00:00Z';
const GIVEN = { pool: 'worker', digest: DIGEST, problems: [] };
const PROBLEM = {
  object: 'controllerconfig c',
  path: 'spec.a',
  problem: 'is wrong',
  fix: 'mend it',
};

it.each<[string, BundleReport, object, string, string, RegExp]>([
  [
    'it is written',
    { digest: DIGEST, given: DIGEST },
    {},
    'True',
    'Written',
    /^the host has bundle a{12} of pool worker$/,
  ],
  [
    'it waits',
    { digest: OLD, given: DIGEST },
    {},
    'False',
    'Waiting',
    /^the host has bundle b{12} of pool worker; bundle a{12} waits/,
  ],
  [
    'it failed',
    { given: DIGEST, problem: 'disk full' },
    {},
    'False',
    'NotWritten',
    /^the host has no bundle; disk full$/,
  ],
  [
    'a source is wrong',
    { digest: DIGEST },
    { problems: [PROBLEM] },
    'False',
    'InvalidSource',
    /controllerconfig c: spec\.a is wrong; mend it$/,
  ],
  [
    'a config has it',
    { digest: DIGEST, leftToConfig: ['/var/lib/kubelet/config.json'] },
    {},
    'True',
    'LeftToConfig',
    /left to the config of the host: \/var\/lib\/kubelet\/config\.json; to get it/,
  ],
])('a MachineConfigNode shows when %s', (_what, report, given, status, reason, message) => {
  expect(bundleCondition(report, { ...GIVEN, ...given }, undefined, NOW)).toEqual({
    type: 'HostBundle',
    status,
    reason,
    message: expect.stringMatching(message) as string,
    lastTransitionTime: NOW,
  });
});

it('keeps the time of a status that stays', () => {
  const before = {
    type: 'HostBundle',
    status: 'True',
    reason: 'Written',
    message: '',
    lastTransitionTime: 'then',
  } as const;

  expect(bundleCondition({ digest: DIGEST }, GIVEN, before, NOW).lastTransitionTime).toBe('then');
  expect(bundleCondition({ digest: OLD }, GIVEN, before, NOW).lastTransitionTime).toBe(NOW);
});

describe('a host that has not reported since there is another bundle', () => {
  const OTHER = { ...GIVEN, digest: OLD };
  const shownFor = (report: BundleReport, given: object = {}) =>
    bundleCondition(report, { ...GIVEN, ...given }, undefined, 'then');
  const older = olderCondition(shownFor({ digest: DIGEST }), OTHER, NOW);

  it.each<[string, BundleReport, object, string]>([
    ['was written', { digest: DIGEST }, {}, NOW],
    ['was left to a config', { digest: DIGEST, leftToConfig: ['/a'] }, {}, NOW],
    ['had a wrong source', { digest: DIGEST }, { problems: [PROBLEM] }, 'then'],
  ])('has an older one, where the last one %s', (_what, report, given, lastTransitionTime) => {
    expect(olderCondition(shownFor(report, given), OTHER, NOW)).toEqual({
      type: 'HostBundle',
      status: 'False',
      reason: 'Older',
      message: 'the host has bundle aaaaaaaaaaaa of pool worker, and gets bbbbbbbbbbbb',
      lastTransitionTime,
    });
  });

  it('is told of each wanted bundle once', () => {
    expect(olderCondition(older, OTHER, NOW)).toBeUndefined();
    const third = olderCondition(older, { ...GIVEN, digest: 'c'.repeat(64) }, 'later');
    expect(third?.message).toMatch(/bundle a{12} of pool worker, and gets c{12}$/);
    expect(third?.lastTransitionTime).toBe(NOW);
  });

  it.each<[string, ReturnType<typeof shownFor> | undefined]>([
    ['never reported', undefined],
    ['has the wanted one', shownFor({ digest: OLD }, OTHER)],
    ['could not write the last one', shownFor({ digest: DIGEST, problem: 'disk full' })],
    ['waits for an update', shownFor({ digest: DIGEST }, { digest: 'c'.repeat(64) })],
  ])('keeps its condition when it %s', (_what, shown) => {
    expect(olderCondition(shown, OTHER, NOW)).toBeUndefined();
  });
});
