import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVitals } from '../../../../adapters/host';
import { readBootId } from '../../../../adapters/host/os/boot-id';

describe('the vitals of a machine', () => {
  let server: Server;
  let url: string;
  let answers: number[];
  let progress: string[];
  const abort = new AbortController();
  const context = {
    signal: abort.signal,
    progress: (text: string) => {
      progress.push(text);
    },
  };
  beforeEach(async () => {
    answers = [];
    progress = [];
    server = createServer((_request, response) => {
      response.statusCode = answers.shift() ?? 200;
      response.end('ok');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz`;
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  it('have the name of this boot, as the drivers of operating systems have it', async () => {
    const { bootId } = createVitals({ kubeletHealthSeconds: 0 });

    expect(await bootId()).toMatch(/^[0-9a-f-]{36}$/);
    expect(await bootId()).toBe(await readBootId());
  });

  it('have the command line of the running kernel, word by word', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'slipway-vitals-'));
    const commandLineFile = join(directory, 'cmdline');
    writeFileSync(commandLineFile, 'root=/dev/sda nosmt  quiet\n');

    const vitals = createVitals({ commandLineFile, kubeletHealthSeconds: 0 });
    expect(await vitals.commandLine()).toEqual(['root=/dev/sda', 'nosmt', 'quiet']);
    expect(await createVitals({ kubeletHealthSeconds: 0 }).commandLine()).toBeUndefined();
    rmSync(directory, { recursive: true });
  });

  it('wait for the kubelet, and say what they wait for', async () => {
    answers = [500, 500];
    const vitals = createVitals({ kubeletHealthUrl: url, kubeletHealthSeconds: 60, pollMs: 1 });

    await vitals.kubeletHealthy(context);

    expect(progress).toEqual([
      `waiting for the kubelet: ${url} answers 500`,
      `waiting for the kubelet: ${url} answers 500`,
    ]);
  });

  it('give the last answer of a kubelet that does not come up', async () => {
    answers = [500];
    const vitals = createVitals({ kubeletHealthUrl: url, kubeletHealthSeconds: 0 });

    await expect(vitals.kubeletHealthy(context)).rejects.toMatchObject({
      name: 'VerifyFailed',
      message: `the kubelet is not healthy after 0 s: ${url} answers 500`,
    });
  });

  it('name a kubelet that does not report', async () => {
    const closed = 'http://127.0.0.1:1/healthz';
    const vitals = createVitals({ kubeletHealthUrl: closed, kubeletHealthSeconds: 0 });

    await expect(vitals.kubeletHealthy(context)).rejects.toThrow(/ECONNREFUSED/);
    await expect(
      createVitals({ kubeletHealthSeconds: 0 }).kubeletHealthy(context),
    ).resolves.toBeUndefined();
  });
});
