import type { RegistryClient } from '../../../adapters/registry';
import type { CliOs, Stream } from '../../../cli/os/cluster-os';
import { setStreams } from '../../../cli/os/streams';
import type { WantedImages } from '../../../cli/os/wanted-images';
import type { ReleaseStream } from '../../../core/os';
import type { MachineConfigPool } from '../../../core/pool/types';

const image = (name: string, digit: string): string =>
  `quay.io/okd/${name}@sha256:${digit.repeat(64)}`;

const streamOf = (tag: string, digit: string): ReleaseStream => ({
  ...{ tag, osImage: image('os', digit), extensionsImage: image('extensions', digit) },
});
const EL9 = streamOf('rhel-9', '9');
const EL10 = streamOf('rhel-coreos-10', '1');

const releaseWith = (...streams: readonly ReleaseStream[]): WantedImages => ({
  ...{ osImage: EL9.osImage, extensionsImage: EL9.extensionsImage },
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
  const labelled: string[] = [];
  const registry = {
    labels: ({ digest }: { digest: string }): Promise<Record<string, string>> => {
      labelled.push(digest);
      const isTen = EL10.osImage.endsWith(digest);
      return Promise.resolve(isTen ? { 'io.openshift.os.streamclass': 'rhel-10' } : {});
    },
  } as unknown as RegistryClient;
  const set = (pools: readonly MachineConfigPool[], wanted: WantedImages) =>
    setStreams(os, pools, wanted, registry);
  return { set, written, labelled };
}

it('writes several operating systems, with that of the cluster as the usual one', async () => {
  const { set, written } = given();
  const told = await set([pool('worker')], releaseWith(EL10, EL9));
  expect(written).toEqual([[['rhel-10', 'rhel-9'], 'rhel-9']]);
  expect(told).toEqual(['OSImageStream cluster: rhel-10, rhel-9']);
});

it('writes nothing for a release with one, unless pools may have chosen from an earlier release', async () => {
  const first = given();
  expect(await first.set([], releaseWith(EL9))).toEqual([]);
  expect(first.written).toEqual([]);
  // A mirror may have only the release.
  expect(first.labelled).toEqual([]);

  const later = given(true);
  await later.set([], releaseWith(EL9));
  expect(later.written).toEqual([[['rhel-9'], 'rhel-9']]);
});

it('names the pools whose stream the release does not have', async () => {
  const pools = [pool('gpu', 'rhel-8'), pool('slow'), pool('worker', 'rhel-10')];
  const told = await given(true).set(pools, releaseWith(EL9));
  expect(told.slice(1)).toEqual([
    'pool gpu keeps its config: it has chosen stream rhel-8, which this release does not have',
    'pool slow keeps its config: it has chosen stream rhel-10, which this release does not have',
    'pool worker keeps its config: it has chosen stream rhel-10, which this release does not have',
  ]);
});

it('leaves the streams where the release has none, and says so', async () => {
  const { set, written } = given(true);
  expect(await set([], releaseWith())).toEqual([
    'OSImageStream cluster stays as it is: this release names no OS image with an extensions image',
  ]);
  expect(written).toEqual([]);
});

it('says nothing of streams where their kind is not served', async () => {
  expect(await given(false, false).set([], releaseWith(EL9, EL10))).toEqual([]);
});
