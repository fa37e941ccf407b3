import { bundleCondition, type BundleReport } from '../../../../core/host-bundle';

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
