import { judged, type Row } from './judged';

const AMOUNTS: readonly (readonly [
  about: string,
  refused: string,
  says: string,
  accepted: string,
])[] = [
  ['a word', 'ten', 'which is neither a quantity nor a percentage', '10'],
  ['an unknown unit', '100MB', 'which is neither a quantity nor a percentage', '100M'],
  ['nothing', '0', 'which is not above zero', '1n'],
  ['a negative quantity', '-100Mi', 'which is not above zero', '100Mi'],
  ['a percentage above all', '100.1%', 'outside of 0% to 100%', '100%'],
  ['a negative percentage', '-1%', 'outside of 0% to 100%', '0%'],
  ['a percentage without a number', '%', 'which is no percentage', '0.1%'],
  // The kubelet reads these, and takes a meaningless threshold from them.
  ['no number', 'NaN%', 'which is no percentage', '1e1%'],
  ['a hexadecimal percentage', '0x1p4%', 'which is no percentage', '16%'],
];

const GRACE = { evictionSoftGracePeriod: { 'memory.available': '1m' } };

judged([
  ...AMOUNTS.flatMap(([about, refused, says, accepted]): readonly Row[] => [
    {
      about: `${about} as a hard threshold`,
      refused: { evictionHard: { 'memory.available': refused } },
      at: 'evictionHard.memory.available',
      says: `is "${refused}", ${says}`,
      accepted: { evictionHard: { 'memory.available': accepted } },
    },
    {
      about: `${about} as a soft threshold`,
      refused: { evictionSoft: { 'memory.available': refused }, ...GRACE },
      at: 'evictionSoft.memory.available',
      says: `is "${refused}", ${says}`,
      accepted: { evictionSoft: { 'memory.available': accepted }, ...GRACE },
    },
  ]),
  ...['evictionHard', 'evictionMinimumReclaim'].map((field) => ({
    about: `an unknown signal of ${field}`,
    refused: { [field]: { 'memory.free': '100Mi' } },
    at: `${field}.memory.free`,
    says: '"memory.free" is no eviction signal',
    accepted: { [field]: { 'pid.available': '100' } },
  })),
  {
    about: 'an unknown signal of evictionSoftGracePeriod',
    refused: { evictionSoftGracePeriod: { memory: '1m' } },
    at: 'evictionSoftGracePeriod.memory',
    says: '"memory" is no eviction signal',
    accepted: { evictionSoftGracePeriod: { 'allocatableMemory.available': '1m' } },
  },
  {
    about: 'a soft threshold without a grace period',
    refused: { evictionSoft: { 'memory.available': '5%' } },
    at: 'evictionSoft.memory.available',
    says: 'is "5%", but evictionSoftGracePeriod has no entry for memory.available',
    fix: 'add evictionSoftGracePeriod."memory.available", such as 1m30s',
    accepted: { evictionSoft: { 'memory.available': '5%' }, ...GRACE },
  },
  {
    about: 'a soft threshold of zero that the kubelet does not ignore',
    refused: { evictionSoft: { 'memory.available': '0.0%' } },
    at: 'evictionSoft.memory.available',
    says: 'is "0.0%", but evictionSoftGracePeriod has no entry for memory.available',
    accepted: { evictionSoft: { 'memory.available': '0%' } },
  },
  {
    about: 'a grace period without a unit',
    refused: { evictionSoftGracePeriod: { 'memory.available': '90' } },
    at: 'evictionSoftGracePeriod.memory.available',
    says: 'is "90", which is no duration',
    accepted: { evictionSoftGracePeriod: { 'memory.available': '90s' } },
  },
  {
    about: 'a negative grace period',
    refused: { evictionSoftGracePeriod: { 'memory.available': '-1ns' } },
    at: 'evictionSoftGracePeriod.memory.available',
    says: 'is "-1ns", which is negative',
    accepted: { evictionSoftGracePeriod: { 'memory.available': '0' } },
  },
  {
    about: 'a negative amount to reclaim',
    refused: { evictionMinimumReclaim: { 'nodefs.available': '-1Mi' } },
    at: 'evictionMinimumReclaim.nodefs.available',
    says: 'is "-1Mi", which is negative',
    accepted: { evictionMinimumReclaim: { 'nodefs.available': '0' } },
  },
  {
    about: 'a percentage of nothing to reclaim',
    refused: { evictionMinimumReclaim: { 'nodefs.available': '0%' } },
    at: 'evictionMinimumReclaim.nodefs.available',
    says: 'is "0%", which is not above zero',
    accepted: { evictionMinimumReclaim: { 'nodefs.available': '101%' } },
  },
  {
    about: 'an amount to reclaim that is a word',
    refused: { evictionMinimumReclaim: { 'nodefs.available': 'all' } },
    at: 'evictionMinimumReclaim.nodefs.available',
    says: 'is "all", which is neither a quantity nor a percentage',
    accepted: { evictionMinimumReclaim: { 'nodefs.available': '1Mi' } },
  },
]);
