import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../../../process/logging';
import {
  connectionOptions,
  firstConnectionOptions,
} from '../../../../process/temporal/connection-options';

const directory = mkdtempSync(join(tmpdir(), 'slipway-target-'));
const file = join(directory, 'key');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const temporalAddress = 'temporal:7233';
const fromFile = (text: string) => {
  writeFileSync(file, text);
  return () => connectionOptions({ temporalAddress, temporalApiKeyFile: file });
};

describe('an API key for Temporal', () => {
  it('goes over TLS, also when nothing else asks for it', () => {
    expect(connectionOptions({ temporalAddress, temporalApiKey: 'k1' })).toEqual({
      address: temporalAddress,
      tls: true,
      apiKey: 'k1',
    });
  });

  it('is read from its file each time, without the line break at its end', () => {
    expect(fromFile('k1\n')().apiKey).toBe('k1');
    expect(fromFile('k2')().apiKey).toBe('k2');
  });

  it.each(['', 'secret\nsecond line', 'sécret'])(
    'that is none (%j) is refused, and not shown',
    (text) => {
      const attempt = fromFile(text);
      expect(attempt).toThrow(/temporalApiKeyFile: .*\/key: is no API key/);
      expect(attempt).not.toThrow(/cret/);
    },
  );

  it('whose file is missing names it', () => {
    const attempt = () =>
      connectionOptions({ temporalAddress, temporalApiKeyFile: '/nowhere/key' });
    expect(attempt).toThrow(/temporalApiKeyFile: \/nowhere\/key cannot be read/);
  });
});

describe('TLS', () => {
  const log = createLogger({ process: 'test', level: 'silent' });
  const missing = { temporalAddress, temporalTlsCa: '/nowhere/ca.crt' };

  it('can be turned off, also where files are named', () => {
    expect(connectionOptions({ ...missing, temporalTls: false })).toEqual({
      address: temporalAddress,
    });
  });

  it('can be turned on without a file', () => {
    expect(connectionOptions({ temporalAddress, temporalTls: true })).toEqual({
      address: temporalAddress,
      tls: true,
    });
  });

  it('is used at the start, too, while a file is missing', () => {
    expect(firstConnectionOptions(missing, log)).toEqual({ address: temporalAddress, tls: true });
    expect(() => connectionOptions(missing)).toThrow('/nowhere/ca.crt');
  });
});
