import { failureName, messageOf } from '../../../../core/errors';
import { releaseIn } from '../../../../core/os';

const image = (name: string): string => `quay.io/okd/scos-content@sha256:${name.repeat(64)}`;
const PAYLOAD = `quay.io/okd/scos-release@sha256:${'0'.repeat(64)}`;

function references(
  tags: Readonly<Record<string, string>>,
  name: string | null = '4.20.0-okd',
): string {
  return JSON.stringify({
    kind: 'ImageStream',
    apiVersion: 'image.openshift.io/v1',
    metadata: { name },
    spec: {
      tags: Object.entries(tags).map(([tag, from]) => ({
        ...{ name: tag, from: { kind: 'DockerImage', name: from } },
        annotations: { 'io.openshift.build.versions': 'machine-os=9.6' },
      })),
    },
  });
}

it.each([
  ['stream-coreos', 'stream-coreos-extensions'],
  ['rhel-coreos', 'rhel-coreos-extensions'],
  ['fedora-coreos', 'fedora-coreos-extensions'],
  ['centos-stream-coreos', 'centos-stream-coreos-extensions'],
  ['centos-stream-coreos-9', 'centos-stream-coreos-9-extensions'],
])('finds the OS image %s and its extensions among other images', (os, extensions) => {
  const tags = {
    'machine-config-operator': image('3'),
    [extensions]: image('2'),
    [os]: image('1'),
  };

  expect(releaseIn(references(tags), PAYLOAD)).toEqual({
    version: '4.20.0-okd',
    osImage: image('1'),
    extensionsImage: image('2'),
    streams: [{ tag: os, osImage: image('1'), extensionsImage: image('2') }],
  });
});

it('takes the image without a number where a release has both', () => {
  const tags = { 'rhel-coreos-10': image('2'), 'rhel-coreos': image('1') };
  expect(releaseIn(references(tags), PAYLOAD).osImage).toBe(image('1'));
});

it('names all operating systems that have an extensions image', () => {
  const tags = {
    ...{ 'rhel-coreos': image('1'), 'rhel-coreos-extensions': image('2') },
    ...{ 'rhel-coreos-10': image('3'), 'rhel-coreos-10-extensions': image('4') },
    ...{ 'rhel-coreos-11': image('5'), etcd: image('6'), 'etcd-extensions': image('7') },
  };
  expect(releaseIn(references(tags), PAYLOAD).streams).toEqual([
    { tag: 'rhel-coreos', osImage: image('1'), extensionsImage: image('2') },
    { tag: 'rhel-coreos-10', osImage: image('3'), extensionsImage: image('4') },
  ]);
});

it('has no extensions image and no version where the release has none', () => {
  const tags = { 'stream-coreos': image('1'), 'rhel-coreos-extensions': image('2') };
  expect(releaseIn(references(tags, null), PAYLOAD)).toEqual({
    ...{ version: '', osImage: image('1'), streams: [] },
  });
});

it.each<[string, string, string]>([
  ['is no JSON', 'tags:', 'it is no ImageStream in JSON'],
  ['is a list', '[]', 'it is no ImageStream in JSON'],
  ['is another kind', '{"kind":"Pod"}', 'it is no ImageStream in JSON'],
  ['has no tags', '{"kind":"ImageStream","spec":null}', 'none of its tags is an OS image'],
  ['has other images only', references({ etcd: image('1') }), 'none of its tags is an OS image'],
  [
    'has the OS image from somewhere else than a registry',
    references({ 'rhel-coreos': image('1') }).replace('DockerImage', 'ImageStreamTag'),
    'none of its tags is an OS image',
  ],
  [
    'has several, of which none is the usual one',
    references({ 'rhel-coreos-9': image('1'), 'rhel-coreos-10': image('2') }),
    'it has several OS images (rhel-coreos-9, rhel-coreos-10); name the OS image itself',
  ],
])('refuses a list that %s', (_what, text, problem) => {
  let error: unknown;
  try {
    releaseIn(text, PAYLOAD);
  } catch (thrown) {
    error = thrown;
  }
  expect(failureName(error)).toBe('InvalidRelease');
  expect(messageOf(error)).toContain(
    `release image ${PAYLOAD}: release-manifests/image-references: ${problem}`,
  );
});
