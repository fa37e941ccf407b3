import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConfigClient } from '../../../../adapters/host';

describe('the client of the host endpoint', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'slipway-client-'));
    for (const name of ['tls.crt', 'tls.key', 'ca.crt']) writeFileSync(join(directory, name), '');
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const client = (certificate = 'tls.crt') =>
    createConfigClient({
      // A port of the discard service, where nothing listens.
      url: 'https://127.0.0.1:9',
      certificateFile: join(directory, certificate),
      keyFile: join(directory, 'tls.key'),
      authorityFile: join(directory, 'ca.crt'),
    });

  it('names the config, the server and the cause when nobody answers', async () => {
    await expect(client().fetch('rendered-worker-1')).rejects.toMatchObject({
      name: 'ConfigFetchFailed',
      message: expect.stringMatching(/^fetch rendered-worker-1 from 127\.0\.0\.1:9: /) as string,
    });
  });

  it('names the certificate that is missing', async () => {
    await expect(client('none.crt').fetch('rendered-worker-1')).rejects.toThrow(/none\.crt/);
  });

  it('lets a cancellation be one', async () => {
    const signal = AbortSignal.abort(new Error('cancelled'));

    await expect(client().fetch('rendered-worker-1', signal)).rejects.not.toMatchObject({
      name: 'ConfigFetchFailed',
    });
  });
});
