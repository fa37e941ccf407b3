import { X509Certificate } from 'node:crypto';
import {
  type Issued,
  issueServing,
  linkAuthority,
  makeAuthority,
} from '../../../../adapters/certificates/issue';
import {
  AUTHORITY_DAYS,
  bundleOf,
  certificateBlocks,
  clientAuthorities,
  isOurs,
  isServerName,
  judgeAuthority,
  judgeServing,
  problemOfForeign,
  SERVER_AUTHORITY,
  SERVING_DAYS,
  serverNames,
  type StoredAuthority,
  type StoredServing,
  type WantedServing,
} from '../../../../core/certificates';

const DAY = 86_400_000;
const NOW = Date.parse('2026-03-01T00:00:00Z');
const NAMES = ['10.0.0.7', 'fd00::7', 'slipway.example.com'];

let first: Issued;
let second: Issued;
let link: string;
let serving: Issued;

beforeAll(async () => {
  first = await makeAuthority(NOW);
  second = await makeAuthority(NOW + 9 * 365 * DAY);
  link = await linkAuthority(first, second, NOW + 9 * 365 * DAY);
  serving = await issueServing(first, { names: NAMES, nowMs: NOW });
});

describe('the authority', () => {
  const ours = (more: Partial<StoredAuthority> = {}): StoredAuthority => ({
    certificate: first.certificate,
    ...{ keyProblem: undefined, isOurs: true, isAskedFor: false },
    ...more,
  });
  const judge = (stored: StoredAuthority | undefined, days = 0) =>
    judgeAuthority(stored, NOW + days * DAY, { ...SERVER_AUTHORITY, namespace: 'slipway' });

  it('is made when there is none, and kept for nine tenths of its life', () => {
    expect(judge(undefined)).toEqual({ step: 'make' });
    const { until } = judge(ours()) as { until: number };
    expect(Math.round((until - NOW) / DAY)).toBe((AUTHORITY_DAYS * 9) / 10);
  });

  it.each([
    ['with a tenth of its life left', {}, (AUTHORITY_DAYS * 9) / 10 + 1, 'it ends on 2036-'],
    ['when a person asks', { isAskedFor: true }, 0, 'a person asked for it'],
  ])('is renewed %s', (_when, more, days, because) => {
    expect(judge(ours(more), days)).toEqual({
      step: 'renew',
      because: expect.stringContaining(because) as string,
    });
  });

  it('of a person is never renewed', () => {
    const verdict = judge(ours({ isOurs: false, isAskedFor: true }), AUTHORITY_DAYS - 1);
    expect(verdict).toMatchObject({ step: 'keep' });
  });

  it.each([
    ['a broken certificate', { certificate: 'x' }, 'tls.crt', 'holds no certificate'],
    ['a broken key', { keyProblem: 'is broken' }, 'tls.key', 'is broken'],
  ])('with %s is reported', (_what, more, field, says) => {
    expect(judge(ours(more))).toMatchObject({
      step: 'report',
      problem: { object: 'secret slipway/slipway-server-ca', field, says },
    });
  });

  it('that is none, not signed by itself, or over, is reported', () => {
    expect(judge(ours({ certificate: link }))).toMatchObject({
      problem: { says: 'is not signed by itself' },
    });
    expect(judge(ours({ certificate: serving.certificate }))).toMatchObject({
      problem: { says: 'is not the certificate of an authority' },
    });
    expect(judge(ours(), AUTHORITY_DAYS + 1)).toMatchObject({
      problem: {
        field: 'tls.crt',
        says: expect.stringContaining('ended on 2036-') as string,
        mend: expect.stringContaining('kubectl -n slipway delete secret') as string,
      },
    });
  });
});

describe('the certificate of the server', () => {
  const stored = (more: Partial<StoredServing> = {}): StoredServing => ({
    certificate: serving.certificate,
    ...{ keyProblem: undefined, isAskedFor: false },
    ...more,
  });
  const judge = (
    given: StoredServing | undefined,
    { days = 0, ...more }: Partial<WantedServing> & { days?: number } = {},
  ) =>
    judgeServing(
      given,
      { names: NAMES, authority: first.certificate, links: '', ...more },
      NOW + days * DAY,
    );

  it('is kept for two thirds of its life', () => {
    const { until } = judge(stored()) as { until: number };
    expect(Math.round((until - NOW) / DAY)).toBe((SERVING_DAYS * 2) / 3);
  });

  it('is issued for every reason', () => {
    const because = (verdict: object) => (verdict as { because?: string }).because;
    expect(because(judge(undefined))).toBe('there is none');
    expect(because(judge(stored({ isAskedFor: true })))).toBe('a person asked for it');
    expect(because(judge(stored({ keyProblem: 'is broken' })))).toBe('tls.key is broken');
    expect(because(judge(stored(), { days: 61 }))).toContain('it ends on 2026-05-');
    expect(because(judge(stored(), { days: 91 }))).toContain('it ended on 2026-05-');
    const authority = { authority: second.certificate };
    expect(because(judge(stored(), authority))).toBe('it is not of the present authority');
    expect(because(judge(stored(), { links: link }))).toContain('its chain');
    expect(because(judge(stored(), { names: [...NAMES, 'new.example.com'] }))).toBe(
      'it lacks the names new.example.com',
    );
    expect(because(judge(stored(), { names: ['10.0.0.7'] }))).toContain('not wanted any more');
  });

  it('of somebody else is only looked at', () => {
    expect(problemOfForeign(stored(), NOW, 'slipway')).toBeUndefined();
    expect(problemOfForeign(stored(), NOW + 91 * DAY, 'slipway')).toMatchObject({
      object: 'secret slipway/slipway-server-tls',
      field: 'tls.crt',
    });
  });
});

describe('the bundle', () => {
  it('has the present authority, and earlier ones until they end', () => {
    const at = (days: number) => {
      const pem = bundleOf(second.certificate, first.certificate, NOW + days * DAY);
      return certificateBlocks(pem).map((block) => `${block}\n`);
    };
    expect(at(9 * 365)).toEqual([second.certificate, first.certificate]);
    expect(at(AUTHORITY_DAYS + 1)).toEqual([second.certificate]);
  });

  it('gets no longer: an old authority vouches for the new one only until it ends itself', () => {
    const [crossed, old] = [new X509Certificate(link), new X509Certificate(first.certificate)];
    expect(crossed.validTo).toBe(old.validTo);
    expect(crossed.subject).toBe(new X509Certificate(second.certificate).subject);
  });
});

describe('the authorities of kubelets', () => {
  it('are those of the cluster, without those that are over, each once', () => {
    const found = `${first.certificate}${second.certificate}${first.certificate}`;
    const at = (days: number) => clientAuthorities(found, NOW + days * DAY);
    expect(at(1)).toEqual({ pem: `${first.certificate}${second.certificate}` });
    expect(at(AUTHORITY_DAYS + 1)).toEqual({ pem: second.certificate });
  });

  it.each([
    [undefined, 'holds no certificate'],
    ['', 'holds no certificate'],
    ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', 'cannot be read'],
  ])('are reported when there are none: %j', (found, says) => {
    expect(clientAuthorities(found, NOW)).toMatchObject({
      object: 'configmap kube-system/extension-apiserver-authentication',
      field: 'client-ca-file',
      says: expect.stringContaining(says) as string,
    });
  });
});

it('the names of the server are those that are set, its Service, and the internal address', () => {
  const names = serverNames({
    set: ['slipway.example.com'],
    internalHost: '[fd00::1]',
    namespace: 'slipway',
  });
  expect(names).toEqual([
    'fd00::1',
    'slipway-server.slipway',
    'slipway-server.slipway.svc',
    'slipway.example.com',
  ]);
});

it.each([
  ['a.example.com', true],
  ['10.0.0.1', true],
  ['fd00::1', true],
  ['10.0.0.999', false],
  ['A.example.com', false],
  ['https://a', false],
  ['*.example.com', false],
  ['', false],
])('%s is a name for a certificate: %s', (name, isOne) => {
  expect(isServerName(name)).toBe(isOne);
});

it.each([
  [{ 'app.kubernetes.io/managed-by': 'slipway-controllers' }, {}, true],
  [{}, {}, false],
  [{ 'app.kubernetes.io/managed-by': 'Helm' }, {}, false],
  [
    { 'app.kubernetes.io/managed-by': 'slipway-controllers' },
    { 'cert-manager.io/certificate-name': 'slipway-server' },
    false,
  ],
])('an object with labels %j and annotations %j is ours: %s', (labels, annotations, expected) => {
  expect(isOurs({ name: 'x', labels, annotations })).toBe(expected);
});
