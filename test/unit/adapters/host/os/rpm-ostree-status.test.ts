import {
  extensionsOf,
  kernelTypeOf,
  pullSpecOf,
  readRpmOstreeStatus,
} from '../../../../../adapters/host/os/rpm-ostree-status';
import { digest, failureOf, fixture } from './fixtures';

const read = (name: string) => readRpmOstreeStatus(fixture(`rpm-ostree/${name}.json`));

describe('what rpm-ostree status prints', () => {
  it('of 2020: a deployment of an ostree branch has no image', () => {
    expect(read('2020.10-ostree-branch')).toEqual([
      {
        index: 0,
        id: `${'3'.repeat(64)}.0`,
        booted: true,
        staged: false,
        locked: false,
        packages: ['usbguard'],
        removals: [],
      },
    ]);
  });

  it('of 2021: the digest is in the metadata of the commit', () => {
    expect(read('2021.7-booted-and-rollback')).toMatchObject([
      { booted: true, image: `registry.example/os/node@${digest('1')}`, digest: digest('1') },
      { booted: false, image: `registry.example/os/node@${digest('2')}`, digest: digest('2') },
    ]);
  });

  it('of 2023: a staged deployment, locked, over the booted one', () => {
    const deployments = read('2023.3-staged-locked');
    expect(deployments.map(({ staged, locked, booted }) => ({ staged, locked, booted }))).toEqual([
      { staged: true, locked: true, booted: false },
      { staged: false, locked: false, booted: true },
      { staged: false, locked: false, booted: false },
    ]);
    expect(deployments[2]?.id).toBe(`${'6'.repeat(64)}.1`);
  });

  it('of 2024: a staged deployment that nothing locks, signed', () => {
    expect(read('2024.4-staged-released')[0]).toMatchObject({
      staged: true,
      locked: false,
      image: `registry.example/os/node@${digest('7')}`,
    });
  });

  it('of 2025: another kernel', () => {
    const booted = read('2025.6-realtime-rollback-pending')[1];
    expect(booted?.removals).toContain('kernel-core');
    expect(kernelTypeOf(booted?.packages ?? [])).toBe('realtime');
    expect(kernelTypeOf(read('2025.6-64k-pages')[0]?.packages ?? [])).toBe('64k-pages');
  });
});

describe('a format that nobody has seen', () => {
  it.each([
    ['', /did not print JSON but ''/],
    ['State: idle', /rpm-ostree status --json did not print JSON but 'State: idle'/],
    ['[]', /the output should be an object but is a list/],
    ['{}', /deployments should be a list of objects but is nothing/],
    ['{"deployments": []}', /deployments should be a list with the booted deployment/],
    ['{"deployments": [7]}', /deployments\[0\] should be an object but is 7/],
    ['{"deployments": [{"checksum": "c", "serial": "0"}]}', /deployments\[0\].*but is/],
    [
      '{"deployments": [{"id": "a", "checksum": "c", "serial": 0, "booted": "yes"}]}',
      /deployments\[0\]\.booted should be true or false but is 'yes'/,
    ],
    [
      '{"deployments": [{"id": "a", "checksum": "c", "serial": 0, "booted": true, "requested-packages": [1]}]}',
      /deployments\[0\]\.requested-packages\[0\] should be a string but is 1/,
    ],
  ])('%s is refused by field', (output, message) => {
    const failure = failureOf(() => readRpmOstreeStatus(output));
    expect(failure.message).toMatch(message);
    expect(failure.name).toBe('OsCommandFailed');
  });
});

describe('a reference of ostree', () => {
  it.each([
    ['ostree-unverified-registry:h/n@sha256:1', 'h/n@sha256:1'],
    ['ostree-image-signed:docker://h/n:t', 'h/n:t'],
    ['ostree-image-signed:registry:h/n:t', 'h/n:t'],
    ['ostree-unverified-image:docker://h:5000/n', 'h:5000/n'],
    ['ostree-remote-registry:fedora:h/n:t', 'h/n:t'],
    ['ostree-remote-image:fedora:docker://h/n:t', 'h/n:t'],
    ['ostree-unverified-image:oci:/var/image', 'oci:/var/image'],
  ])('%s is the image %s', (reference, image) => {
    expect(pullSpecOf(reference)).toBe(image);
  });
});

it('an extension is there when all its packages are', () => {
  expect(extensionsOf(['krb5-workstation', 'usbguard'])).toEqual(['usbguard']);
  expect(extensionsOf(['libkadm5', 'krb5-workstation'])).toEqual(['kerberos']);
});
