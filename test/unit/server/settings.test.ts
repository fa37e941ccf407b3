import { readServerSettings } from '../../../server/settings';

const FILES = { certificateFile: 'tls.crt', keyFile: 'tls.key', clientAuthorityFile: 'ca.crt' };

describe('the settings of the server', () => {
  it('have defaults for everything but the files', () => {
    expect(readServerSettings({ ...FILES, plainPort: '9090' })).toMatchObject({
      hostPort: 22_624,
      plainPort: 9090,
      logLevel: 'info',
    });
  });

  it('name every problem', () => {
    const attempt = () => readServerSettings({ ...FILES, keyFile: '', hostPort: 70_000 });

    expect(attempt).toThrow(/hostPort:/);
    expect(attempt).toThrow(/keyFile:/);
  });

  it('take several networks in one text or as a list', () => {
    const read = (allowNetwork: string | string[]) =>
      readServerSettings({ ...FILES, allowNetwork }).allowNetwork;

    expect(read('192.0.2.0/24, 2001:db8::/32')).toEqual(['192.0.2.0/24', '2001:db8::/32']);
    expect(read(['192.0.2.0/24', '198.51.100.7'])).toEqual(['192.0.2.0/24', '198.51.100.7']);
    expect(readServerSettings(FILES)).toMatchObject({ allowNetwork: [], joinMode: 'tokens' });
  });

  it('name every network and registry that is none, at once', () => {
    const read = () =>
      readServerSettings({
        ...FILES,
        allowNetwork: ['192.0.2.0/24', '192.0.2.0/33'],
        registryAuthority: 'registry.example.com:5000=/ca.crt,no-file',
      });

    expect(read).toThrow(/allowNetwork\.1: "192\.0\.2\.0\/33" is no network/);
    expect(read).toThrow(/registryAuthority\.1: no-file is not host\[:port\]=file/);
    expect(read).not.toThrow(/allowNetwork\.0|registryAuthority\.0/);
  });

  it('ask for a client authority where there is a host endpoint', () => {
    const { certificateFile, keyFile } = FILES;

    expect(() => readServerSettings({ certificateFile, keyFile })).toThrow(/clientAuthorityFile/);
    expect(
      readServerSettings({ certificateFile, keyFile, bootstrapDir: '/etc/mcs/bootstrap' }),
    ).toMatchObject({ bootstrapDir: '/etc/mcs/bootstrap', ignitionPort: 22_623 });
  });

  it('ask for the address of the API server with a bootstrap token, and for https', () => {
    const read = (given: object) => () => readServerSettings({ ...FILES, ...given });

    expect(read({ bootstrapTokenDirectory: '/x' })).toThrow(/apiServerUrl: goes together/);
    expect(read({ bootstrapTokenDirectory: '/x', apiServerUrl: 'http://api' })).toThrow(
      /apiServerUrl/,
    );
  });
});
