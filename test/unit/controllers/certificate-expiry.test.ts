import { X509Certificate } from 'node:crypto';
import { expiriesNow, withExpiries } from '../../../controllers/pool-status/certificate-expiry';
import { createMetrics } from '../../../controllers/metrics';
import { newAuthority } from '../../../tools/cluster/certificates';

const OWN = { bundle: 'slipway-server-tls', subject: 'CN=server', expiry: '2031-01-01T00:00:00Z' };
const DAY = 86_400_000;

let pem: string;

beforeAll(async () => {
  pem = (await newAuthority('one')).certificate;
});

const config = () => ({ spec: { rootCAData: Buffer.from(pem).toString('base64') } });

it('keeps what a pool shows of the server until its certificates have been seen', () => {
  const status = { certExpirys: [OWN, { ...OWN, bundle: 'RootCAData' }] };

  const unseen = expiriesNow(config(), undefined, status);
  expect(unseen.map(({ bundle, subject }) => [bundle, subject])).toEqual([
    ['RootCAData', 'CN=one'],
    ['slipway-server-tls', 'CN=server'],
  ]);
  const seen = expiriesNow(config(), [{ bundle: 'slipway-server-ca', pem }], status);
  expect(seen.map(({ bundle }) => bundle)).toEqual(['RootCAData', 'slipway-server-ca']);
});

it('sets the condition while something ends soon, and takes it away afterwards', () => {
  const end = Date.parse(new X509Certificate(pem).validTo);
  const expiries = expiriesNow(config(), [], undefined);
  const at = (ms: number) => new Date(ms).toISOString();

  const soon = withExpiries({}, expiries, at(end - 3 * DAY));
  expect(soon.certExpirys).toEqual(expiries);
  expect(soon.conditions).toEqual([
    expect.objectContaining({
      type: 'CertificatesExpiring',
      status: 'True',
      reason: 'Within7Days',
    }),
  ]);
  expect(withExpiries(soon, expiries, at(end - 90 * DAY)).conditions).toEqual([]);
});

it('counts the seconds until the first one of a subject ends', async () => {
  const metrics = createMetrics();
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  metrics.certificatesObserved([{ ...OWN, expiry: inAnHour }, OWN]);

  const text = await metrics.registry.metrics();

  const [, seconds] =
    /slipway_certificate_expiry_seconds\{bundle="slipway-server-tls",subject="CN=server"\} (\S+)/.exec(
      text,
    ) ?? [];
  expect(Number(seconds)).toBeGreaterThan(3_500);
  expect(Number(seconds)).toBeLessThanOrEqual(3_600);
});
