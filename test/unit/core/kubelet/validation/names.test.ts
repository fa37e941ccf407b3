import { judged } from './judged';

const taint = (fields: object): object => ({ registerWithTaints: [{ key: 'a', ...fields }] });
const SYNTAX = 'which is no sysctl and no pattern of sysctls';
const SHARED = 'which would change the whole machine, not one pod';

describe('taints', () => {
  judged([
    ...(
      [
        ['no key', '', 'a'],
        ['a key with a space', 'a b', 'a.b_c-d'],
        ['a long key', 'a'.repeat(64), 'a'.repeat(63)],
        ['a key with two slashes', 'a/b/c', 'example.com/a'],
        ['a key with an empty domain', '/a', 'a/a'],
        ['a key with an upper case domain', 'Example.com/a', 'example.com/A'],
        ['a key with a long domain', `${'a'.repeat(254)}/b`, `${'a'.repeat(253)}/b`],
      ] as const
    ).map(([about, refused, accepted]) => ({
      about,
      refused: { ...taint({ key: refused }) },
      at: 'registerWithTaints.0.key',
      says: `is "${refused}", which is no key of a taint`,
      accepted: { ...taint({ key: accepted }) },
    })),
    {
      about: 'a value with a slash',
      refused: { ...taint({ value: 'a/b' }) },
      at: 'registerWithTaints.0.value',
      says: 'is "a/b", which is no value of a taint',
      accepted: { ...taint({ value: '' }) },
    },
    {
      about: 'a long value',
      refused: { ...taint({ value: 'a'.repeat(64) }) },
      at: 'registerWithTaints.0.value',
      says: `is "${'a'.repeat(64)}", which is no value of a taint`,
      accepted: { ...taint({ value: 'a'.repeat(63) }) },
    },
    {
      about: 'an unknown effect',
      refused: { ...taint({ effect: 'Schedule' }) },
      at: 'registerWithTaints.0.effect',
      says: 'is "Schedule", which is unknown',
      fix: 'write "NoSchedule", "PreferNoSchedule" or "NoExecute"',
      accepted: { ...taint({ effect: 'PreferNoSchedule' }) },
    },
    {
      about: 'a time',
      refused: { ...taint({ timeAdded: '2026-01-02T03:04:05Z' }) },
      at: 'registerWithTaints.0.timeAdded',
      says: 'is "2026-01-02T03:04:05Z"; only the API server sets it',
      accepted: { ...taint({ timeAdded: null }) },
    },
  ]);
});

describe('sysctls', () => {
  judged(
    (
      [
        ['nothing', '', SYNTAX, 'net.core.somaxconn'],
        ['upper case', 'net.core.SOMAXCONN', SYNTAX, 'net.core.*'],
        ['a star in the middle', 'net.*.x', SYNTAX, 'net.ipv4.*'],
        ['a long name', `net.${'a'.repeat(250)}`, SYNTAX, `net.${'a'.repeat(249)}`],
        ['all of the kernel', 'kernel.*', SHARED, 'kernel.msg*'],
        ['one of the kernel', 'kernel.pid_max', SHARED, 'kernel.shmmax'],
        ['a prefix without a point', 'net*', SHARED, 'net.*'],
        ['all of the queues, as one', 'fs.mqueue', SHARED, 'fs.mqueue.*'],
        ['a sysctl with slashes', 'kernel/pid_max', SHARED, 'net/ipv4/conf/eth0.1/rp_filter'],
      ] as const
    ).map(([about, refused, says, accepted]) => ({
      about,
      refused: { allowedUnsafeSysctls: ['net.core.somaxconn', refused] },
      at: 'allowedUnsafeSysctls.1',
      says: `is "${refused}", ${says}`,
      accepted: { allowedUnsafeSysctls: [accepted] },
    })),
  );
});
