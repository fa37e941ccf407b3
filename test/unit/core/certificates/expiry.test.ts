import { X509Certificate } from 'node:crypto';
import {
  type CertificateExpiry,
  expiriesOf,
  expiringCondition,
  untilNextWarning,
} from '../../../../core/certificates';
import { certificatesIn } from '../../../../core/host-bundle';
import { newAuthority } from '../../../../tools/cluster/certificates';

const DAY = 86_400_000;
const HOUR = 3_600_000;

let one: string;
let other: string;
let endMs: number;
let expiry: string;

beforeAll(async () => {
  one = (await newAuthority('one')).certificate;
  other = (await newAuthority('other')).certificate;
  endMs = Date.parse(new X509Certificate(one).validTo);
  expiry = new Date(endMs).toISOString().replace('.000Z', 'Z');
});

it('names each certificate of a bundle once, and leaves out what cannot be read', () => {
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const found = expiriesOf([
    { bundle: 'A', pem: one + other + one + broken },
    { bundle: 'B', pem: '' },
  ]);

  expect(found.map(({ bundle, subject }) => `${bundle} ${subject}`).sort()).toEqual([
    'A CN=one',
    'A CN=other',
  ]);
  expect(found).toContainEqual({ bundle: 'A', subject: 'CN=one', expiry });
});

it('finds those of a ControllerConfig by the names of MCO', () => {
  const data = Buffer.from(one).toString('base64');
  const spec = {
    ...{ kubeAPIServerServingCAData: data, rootCAData: data, cloudProviderCAData: 'ä' },
    imageRegistryBundleData: [{ file: 'a..1', data }],
  };

  expect(certificatesIn({ spec }).map(({ bundle }) => bundle)).toEqual([
    'KubeAPIServerServingCAData',
    'RootCAData',
    '/etc/docker/certs.d/a:1/ca.crt',
  ]);
});

describe('the warning before a certificate ends', () => {
  it.each([
    ['31 days', 31 * DAY, undefined],
    ['30 days', 30 * DAY - HOUR, 'Within30Days'],
    ['8 days', 8 * DAY, 'Within30Days'],
    ['7 days', 7 * DAY - HOUR, 'Within7Days'],
    ['2 days', 2 * DAY, 'Within7Days'],
    ['1 day', DAY - HOUR, 'Within1Day'],
    ['the end', -HOUR, 'Expired'],
  ])('at %s', (_when, leftMs, reason) => {
    const found = expiriesOf([{ bundle: 'RootCAData', pem: one }]);

    const condition = expiringCondition(found, endMs - leftMs);

    expect(condition?.reason).toBe(reason);
    if (reason === undefined) return;
    const verb = leftMs < 0 ? 'ended' : 'ends';
    expect(condition?.message).toContain(`RootCAData: CN=one ${verb} on ${expiry}; rotate`);
  });

  it('is looked at again when the next one is due', () => {
    const found: readonly CertificateExpiry[] = [{ bundle: 'A', subject: 'CN=a', expiry }];

    expect(untilNextWarning(found, endMs - 31 * DAY)).toBe(DAY + 1);
    expect(untilNextWarning(found, endMs - 10 * DAY)).toBe(3 * DAY + 1);
    expect(untilNextWarning(found, endMs - HOUR)).toBe(HOUR + 1);
    expect(untilNextWarning(found, endMs + HOUR)).toBeUndefined();
    expect(untilNextWarning([], 0)).toBeUndefined();
  });
});
