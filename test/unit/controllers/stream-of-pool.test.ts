import { withStream } from '../../../controllers/pool-status/stream-of-pool';
import type { MachineConfig } from '../../../core/machine-config/types';
import type { PoolStatus } from '../../../core/pool/status';

const image = (digit: string): string => `registry.example.com/os@sha256:${digit.repeat(64)}`;
const STREAMS = {
  metadata: { name: 'cluster' },
  status: {
    availableStreams: [
      { name: 'rhel-9', osImage: image('9') },
      { name: 'rhel-10', osImage: image('1') },
    ],
  },
};

function shown(osImageURL: string, conditions: Readonly<Record<string, string>>, before?: string) {
  const config = { metadata: { name: 'rendered-a' }, spec: { osImageURL } } as MachineConfig;
  const status: PoolStatus = {
    configuration: { name: 'rendered-a' },
    ...(before === undefined ? {} : { osImageStream: { name: before } }),
    conditions: Object.entries(conditions).map(([type, value]) => ({
      ...{ type, status: value as 'True', reason: '', message: '' },
    })),
  };
  const picture = {
    machineConfigs: { get: (name: string) => (name === 'rendered-a' ? config : undefined) },
    osImageStreams: { get: (name: string) => (name === 'cluster' ? STREAMS : undefined) },
  } as unknown as Parameters<typeof withStream>[1];
  return withStream(status, picture).osImageStream;
}

const UPDATED = { Updated: 'True', Degraded: 'False' };

// As MCO's TestCalculateStatus has them.
it.each([
  ['updated, with the image of a stream', image('9'), UPDATED, { name: 'rhel-9' }],
  ['updated, with that of another stream', image('1'), UPDATED, { name: 'rhel-10' }],
  ['updated, with an image of its own', image('7'), UPDATED, undefined],
  ['updated, without an image', '', UPDATED, undefined],
  ['updating', image('9'), { Updated: 'False', Updating: 'True' }, undefined],
  ['degraded', image('9'), { Updated: 'True', Degraded: 'True' }, undefined],
])('a pool that is %s', (_what, osImageURL, conditions, expected) => {
  expect(shown(osImageURL, conditions)).toEqual(expected);
  expect(shown(osImageURL, conditions, 'rhel-8')).toEqual(expected);
});
