import type { CliOs, Stream } from '../../../cli/os/cluster-os';
import { setStreams } from '../../../cli/os/streams';
import type { WantedImages } from '../../../cli/os/wanted-images';
import type { MachineConfigPool } from '../../../core/pool/types';

const EL9: Stream = { name: 'rhel-9', osImage: 'nine', osExtensionsImage: 'more-nine' };
const EL10: Stream = { name: 'rhel-10', osImage: 'ten', osExtensionsImage: 'more-ten' };

const releaseWith = (...streams: readonly Stream[]): WantedImages => ({
  ...{ osImage: 'nine', extensionsImage: 'more-nine' },
  release: { releaseImage: 'payload', version: '4.21.0', streams },
});

const pool = (name: string, stream = ''): MachineConfigPool => ({
  metadata: { name },
  spec: { osImageStream: { name: stream } },
});

/** @param before - there are streams of an earlier release */
function given(before = false, isServed = true) {
  const written: unknown[] = [];
  const os = {
    hasStreams: () => Promise.resolve(before),
    setStreams: (streams: readonly Stream[], usual: string) => {
      if (isServed) written.push([streams.map(({ name }) => name), usual]);
      return Promise.resolve(isServed);
    },
  } as unknown as CliOs;
  return { os, written };
}

it('writes several operating systems, with that of the cluster as the usual one', async () => {
  const { os, written } = given();
  const told = await setStreams(os, [pool('worker')], releaseWith(EL10, EL9));
  expect(written).toEqual([[['rhel-10', 'rhel-9'], 'rhel-9']]);
  expect(told).toEqual(['OSImageStream cluster: rhel-10, rhel-9']);
});

it('writes nothing for a release with one, unless pools may have chosen from an earlier release', async () => {
  const first = given();
  expect(await setStreams(first.os, [], releaseWith(EL9))).toEqual([]);
  expect(first.written).toEqual([]);

  const later = given(true);
  await setStreams(later.os, [], releaseWith(EL9));
  expect(later.written).toEqual([[['rhel-9'], 'rhel-9']]);
});

it('names the pools whose stream the release does not have', async () => {
  const pools = [pool('gpu', 'rhel-8'), pool('slow'), pool('worker', 'rhel-10')];
  const told = await setStreams(given(true).os, pools, releaseWith(EL9));
  expect(told.slice(1)).toEqual([
    'pool gpu keeps its config: it has chosen stream rhel-8, which this release does not have',
    'pool slow keeps its config: it has chosen stream rhel-10, which this release does not have',
    'pool worker keeps its config: it has chosen stream rhel-10, which this release does not have',
  ]);
});

it('leaves the streams where the release has none, and says so', async () => {
  const { os, written } = given(true);
  expect(await setStreams(os, [], releaseWith())).toEqual([
    'OSImageStream cluster stays as it is: this release names no OS image with an extensions image',
  ]);
  expect(written).toEqual([]);
});

it('says nothing of streams where their kind is not served', async () => {
  expect(await setStreams(given(false, false).os, [], releaseWith(EL9, EL10))).toEqual([]);
});
