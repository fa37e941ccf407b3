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
});
