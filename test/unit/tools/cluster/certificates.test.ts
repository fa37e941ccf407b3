import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { connect, createServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
  type Credentials,
} from '../../../../tools/cluster/certificates';

const NODE = { commonName: 'system:node:worker-1', organizations: ['system:nodes'] };

describe('certificates of a development cluster', () => {
  let authority: Credentials;

  beforeAll(async () => {
    authority = await newAuthority('test authority');
  });

  it('signs itself as an authority', () => {
    const certificate = new X509Certificate(authority.certificate);

    expect(certificate.ca).toBe(true);
    expect(certificate.verify(createPublicKey(createPrivateKey(authority.key)))).toBe(true);
    expect(certificate.subject).toBe('CN=test authority');
  });

  it('names the user and the groups of a client', async () => {
    const issued = await issueCertificate(authority, { subject: NODE, use: CertificateUse.CLIENT });

    const certificate = new X509Certificate(issued.certificate);
    expect(certificate.subject).toBe('O=system:nodes\nCN=system:node:worker-1');
    expect(certificate.ca).toBe(false);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(issued.key))).toBe(true);
  });

  it('covers names, IPv4 and IPv6 addresses of a server', async () => {
    const issued = await issueCertificate(authority, {
      subject: { commonName: 'server' },
      use: CertificateUse.SERVER,
      addresses: ['localhost', '127.0.0.1', '::1', 'fd00::12:0:1'],
    });

    const certificate = new X509Certificate(issued.certificate);
    expect(certificate.checkHost('localhost')).toBe('localhost');
    for (const address of ['127.0.0.1', '::1', 'fd00::12:0:1']) {
      expect(certificate.checkIP(address)).toBe(address);
    }
    expect(certificate.checkIP('127.0.0.2')).toBeUndefined();
  });

  it('lets both sides of a mutual TLS connection know each other', async () => {
    const forServer = await issueCertificate(authority, {
      subject: { commonName: 'server' },
      use: CertificateUse.SERVER,
      addresses: ['127.0.0.1'],
    });
    const forClient = await issueCertificate(authority, {
      subject: NODE,
      use: CertificateUse.CLIENT,
    });
    const ca = authority.certificate;
    const server = createServer(
      { ca, cert: forServer.certificate, key: forServer.key, requestCert: true },
      (socket) =>
        socket.end(
          `${String(socket.authorized)} ${String(socket.getPeerCertificate().subject.CN)}`,
        ),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;

    const greeting = await new Promise((resolve, reject) => {
      const { certificate: cert, key } = forClient;
      const socket = connect({ host: '127.0.0.1', port, ca, cert, key });
      socket.once('error', reject);
      socket.once('data', (data: Buffer) => {
        resolve(data.toString());
      });
    });

    expect(greeting).toBe('true system:node:worker-1');
    await new Promise((resolve) => server.close(resolve));
  });
});
