import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { connected } from '../../../../workers/host/connection';
import { createLogger } from '../../../../process/logging';

const log = createLogger({ process: 'test', level: 'silent' });

jest.mock('@temporalio/worker', () => ({
  NativeConnection: { connect: jest.fn(async () => ({ close: async () => undefined })) },
}));
jest.mock('../../../../process/temporal/runtime', () => ({
  installTemporalRuntime: () => undefined,
}));

describe('a connection to the gateway', () => {
  it('waits for the certificate of the kubelet, and has all authorities of the server', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'slipway-connection-'));
    const identity = {
      certificateFile: join(directory, 'tls.crt'),
      keyFile: join(directory, 'tls.key'),
      authorityFile: join(directory, 'ca.crt'),
      learnedAuthorityFile: join(directory, 'learned.crt'),
    };
    const settings = {
      temporalAddress: 'server:22625',
      temporalNamespace: 'slipway',
      isDirect: false,
    };
    const stop = new AbortController();
    const warnings: string[] = [];
    const heard = Object.assign(Object.create(log), {
      warn: ({ reason }: { reason: string }) => {
        warnings.push(reason);
        writeFileSync(identity.certificateFile, 'certificate');
        writeFileSync(identity.keyFile, 'key');
        writeFileSync(identity.authorityFile, 'authority');
      },
    }) as typeof log;

    const work = async () => stop.abort();
    await connected(settings, { signal: stop.signal, log: heard, identity }, work);

    expect(warnings).toEqual([expect.stringMatching(/ENOENT.*(tls|ca)\./)]);
    expect(NativeConnection.connect).toHaveBeenCalledWith({
      address: 'server:22625',
      tls: {
        serverRootCACertificate: Buffer.from('authority'),
        clientCertPair: { crt: Buffer.from('certificate'), key: Buffer.from('key') },
      },
    });
    rmSync(directory, { recursive: true });
  });
});

describe('a connection to Temporal itself', () => {
  it('says that it stands outside of the gateway', async () => {
    const stop = new AbortController();
    const warnings: string[] = [];
    const heard = Object.assign(Object.create(log), {
      warn: (_fields: object, message: string) => void warnings.push(message),
    }) as typeof log;
    const settings = {
      temporalAddress: 'temporal:7233',
      temporalNamespace: 'slipway',
      temporalTls: true,
      isDirect: true,
    };

    const work = async () => stop.abort();
    await connected(settings, { signal: stop.signal, log: heard, identity: undefined }, work);

    expect(warnings).toEqual([expect.stringMatching(/^this host talks to Temporal itself/)]);
  });
});

describe('a connection with a deadline', () => {
  const settings = {
    temporalAddress: 'temporal:7233',
    temporalNamespace: 'slipway',
    isDirect: true,
  };
  const identity = undefined;

  it.each([
    ['ends', async () => undefined],
    ['fails', async () => Promise.reject(new Error('shut down by force'))],
  ])('says that it passed while the work went on, which then %s', async (_how, end) => {
    const stop = new AbortController();
    const deadline = new AbortController();

    const work = async () => {
      deadline.abort();
      return end();
    };

    const inTime = { signal: stop.signal, log, deadline: deadline.signal, identity };
    expect(await connected(settings, inTime, work)).toBe(true);
  });

  it('says nothing of it when the process stops', async () => {
    const stop = new AbortController();
    const deadline = new AbortController();

    const work = async () => {
      stop.abort();
      deadline.abort();
    };

    const inTime = { signal: stop.signal, log, deadline: deadline.signal, identity };
    expect(await connected(settings, inTime, work)).toBe(false);
  });
});
