import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { refusalOf, server } from '../../../../cli/doctor/server';
import type { DoctorCluster } from '../../../../cli/doctor/ports';
import { issueServing } from '../../../../adapters/certificates/issue';
import { type Credentials, newAuthority } from '../../../../tools/cluster/certificates';

let authority: Credentials;
let listening: Server;
let port: number;

beforeAll(async () => {
  authority = await newAuthority('slipway-test');
  const nowMs = Date.now();
  const { certificate, key } = await issueServing(authority, { names: ['localhost'], nowMs });
  listening = createServer({ cert: certificate, key, requestCert: true });
  listening.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  port = (listening.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => listening.close(resolve)));

function aCluster(given: Partial<DoctorCluster>): DoctorCluster {
  return {
    serverNames: () => Promise.resolve(['localhost']),
    serverPorts: () => Promise.resolve([port]),
    serverAuthorities: () => Promise.resolve(authority.certificate),
    refusalOf,
    ...given,
  } as DoctorCluster;
}

describe('the server, as machines reach it', () => {
  it('answers', async () => {
    expect(await server(aCluster({}))).toEqual([
      { level: 'ok', object: `server localhost:${port}`, says: 'answers' },
    ]);
  });

  it.each<[string, () => Promise<Partial<DoctorCluster>>, RegExp]>([
    [
      'a name that its certificate lacks',
      async () => ({ serverNames: () => Promise.resolve(['127.0.0.1']) }),
      /^does not answer here: .*127\.0\.0\.1/,
    ],
    [
      'an authority that did not sign it',
      async () => {
        const { certificate } = await newAuthority('another');
        return { serverAuthorities: () => Promise.resolve(certificate) };
      },
      /^does not answer here: .*(certificate|issuer)/,
    ],
    [
      'a port where nothing listens',
      async () => ({ serverPorts: () => Promise.resolve([1]) }),
      /^does not answer here: .*ECONNREFUSED/,
    ],
  ])('is named with its port and a command, with %s', async (_what, given, says) => {
    const [finding] = await server(aCluster(await given()));

    expect(finding?.says).toMatch(says);
    expect(finding?.level).toBe('warning');
    expect(finding?.mend).toContain('kubectl -n slipway get pods');
  });

  it('is not asked where it has no port for machines', async () => {
    expect(await server(aCluster({ serverPorts: () => Promise.resolve([]) }))).toEqual([]);
  });
});
