import { failureName, messageOf } from '../../../../core/errors';
import { chosenStream } from '../../../../core/pool/image-stream';
import type { MachineConfigPool } from '../../../../core/pool/types';

const image = (digit: string): string => `registry.example.com/os@sha256:${digit.repeat(64)}`;
const EL9 = { name: 'rhel-9', osImage: image('1'), osExtensionsImage: image('2') };
const EL10 = { name: 'rhel-10', osImage: image('3'), osExtensionsImage: image('4') };
const stored = (...availableStreams: readonly unknown[]): object => ({
  status: { availableStreams, defaultStream: 'rhel-9' },
});
const STORED = stored(EL9, EL10);

const pool = (name: string, stream?: string): MachineConfigPool => ({
  metadata: { name },
  spec: stream === undefined ? {} : { osImageStream: { name: stream } },
});

function refusal(...args: Parameters<typeof chosenStream>): string {
  try {
    chosenStream(...args);
    return 'not refused';
  } catch (error) {
    expect(failureName(error)).toBe('InvalidPool');
    return messageOf(error);
  }
}

it('is the stream that the pool names', () => {
  expect(chosenStream(pool('worker', 'rhel-10'), '', STORED)).toEqual({
    ...{ name: 'rhel-10', osImage: image('3'), extensionsImage: image('4') },
  });
});

it('is that of worker for a custom pool without one, which an image of a person may replace', () => {
  expect(chosenStream(pool('gpu'), 'rhel-10', STORED)).toEqual({
    ...{ osImage: image('3'), extensionsImage: image('4') },
  });
  expect(chosenStream(pool('gpu', 'rhel-9'), 'rhel-10', STORED)?.osImage).toBe(image('1'));
});

it.each([
  ['a pool without one', pool('worker'), ''],
  ['a pool with an empty one', pool('worker', ''), ''],
  ['master beside a worker with one', pool('master'), 'rhel-10'],
  ['arbiter beside a worker with one', pool('arbiter'), 'rhel-10'],
  ['a custom pool beside a worker without one', pool('gpu'), ''],
])('is none for %s', (_what, one, ofWorker) => {
  expect(chosenStream(one, ofWorker, STORED)).toBeUndefined();
});

it.each<[string, unknown, string]>([
  ['without the object', undefined, 'there is no OSImageStream cluster; set a release'],
  [
    'of another name',
    STORED,
    'OSImageStream cluster has no stream rhel-8; write one of rhel-9, rhel-10',
  ],
  ['before its status', { spec: {} }, 'has no stream rhel-8; it has none, so remove the field'],
  [
    'with an image by tag',
    stored(EL9, { ...EL10, name: 'rhel-8', osImage: 'registry.example.com/os:10' }),
    'OSImageStream cluster, status.availableStreams[1].osImage: the image has no digest',
  ],
  [
    'without an extensions image',
    stored({ name: 'rhel-8', osImage: image('1') }),
    'status.availableStreams[0].osExtensionsImage: is missing; write registry/name@sha256:',
  ],
])('is refused %s, at the field of the pool', (_what, object, problem) => {
  const text = refusal(pool('gpu', 'rhel-8'), '', object);
  expect(text).toContain('machineconfigpool gpu: spec.osImageStream.name: ');
  expect(text).toContain(problem);
});

it('that is inherited and not there is refused at the field of worker', () => {
  expect(refusal(pool('gpu'), 'rhel-8', STORED)).toContain(
    'machineconfigpool worker: spec.osImageStream.name: ',
  );
});
