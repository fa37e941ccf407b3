import { isAddress } from '../../../../../core/kubelet/validation/ip-address';
import { judged } from './judged';

judged([
  {
    about: 'a cipher suite with its name in OpenSSL',
    refused: { tlsCipherSuites: ['TLS_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'] },
    at: 'tlsCipherSuites.1',
    says: 'is "ECDHE-RSA-AES128-GCM-SHA256", which is no cipher suite of Go',
    accepted: { tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'] },
  },
  {
    about: 'an unknown curve',
    refused: { tlsCurvePreferences: [29, 30] },
    at: 'tlsCurvePreferences.1',
    says: 'is 30, which is no curve of Go',
    accepted: { tlsCurvePreferences: [4588, 29] },
  },
  {
    about: 'a curve that is there twice',
    refused: { tlsCurvePreferences: [23, 23] },
    at: 'tlsCurvePreferences.1',
    says: 'is 23 a second time',
    accepted: { tlsCurvePreferences: [23, 24] },
  },
  {
    about: 'an address that is a name',
    refused: { address: 'localhost' },
    at: 'address',
    says: 'is "localhost", which is no IP address',
    accepted: { address: '::' },
  },
  {
    about: 'an address that nobody listens on',
    refused: { address: '1.2.3' },
    at: 'address',
    says: 'is "1.2.3", which is no IP address',
    accepted: { address: '1.2.3', enableServer: false },
  },
  ...['containerRuntimeEndpoint', 'imageServiceEndpoint'].flatMap((field) => [
    {
      about: `a ${field} with TCP`,
      refused: { [field]: 'tcp://localhost:1' },
      at: field,
      says: 'is "tcp://localhost:1", which is no unix socket',
      accepted: { [field]: 'unix:///run/crio/crio.sock' },
    },
    {
      about: `a ${field} that is no URL`,
      refused: { [field]: 'unix://%zz' },
      at: field,
      says: 'is "unix://%zz", which is no unix socket',
      accepted: { [field]: '/run/crio/crio.sock' },
    },
  ]),
  {
    about: 'a collector with HTTP',
    refused: { tracing: { endpoint: 'http://localhost:4317' } },
    at: 'tracing.endpoint',
    says: 'is "http://localhost:4317", which is no endpoint of a collector',
    accepted: { tracing: { endpoint: 'localhost:4317' } },
  },
  {
    about: 'a collector that is no URL',
    refused: { tracing: { endpoint: '%zz' } },
    at: 'tracing.endpoint',
    says: 'is "%zz", which is no endpoint of a collector',
    accepted: { tracing: { endpoint: 'unix:///run/otel.sock' } },
  },
]);

it.each(['0.0.0.0', '010.0.0.1', '::', '::1', 'fe80::1', '::ffff:1.2.3.4', '1:2:3:4:5:6:7:8'])(
  'takes %s for an address',
  (text) => {
    expect(isAddress(text)).toBe(true);
  },
);

it.each(['', '1.2.3', '1.2.3.256', 'a.b.c.d', ':', ':1', '1::2::3', '[::]', '::1%lo', '12345::'])(
  'takes %j for no address',
  (text) => {
    expect(isAddress(text)).toBe(false);
  },
);
