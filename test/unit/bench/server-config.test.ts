import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FILES, POOL, UNITS, writeServedConfig } from '../../../bench/server-config';
import { parseJoinToken } from '../../../core/join';
import type { IgnitionConfig } from '../../../core/machine-config/types';
import { createBootstrapSource } from '../../../server/ignition/bootstrap-source';
import { followBootstrapTokens } from '../../../server/ignition/bootstrap-tokens';
import { prepareNow } from '../../../server/ignition/prepare';
import { createLogger } from '../../../process/logging';

// Three configs are rendered, and compressed in three ways.
jest.setTimeout(30_000);

it('is a first config of 60 files and 20 units with the size that was asked for', async () => {
  const abort = new AbortController();
  const directory = await mkdtemp(join(tmpdir(), 'slipway-bench-'));
  try {
    const token = await writeServedConfig(directory, 200_000);

    const found = await createBootstrapSource({ directory, facts: () => ({}) }).look(POOL);
    if (!('served' in found)) throw new Error(found.missing.message);
    const { machineConfig, facts } = found.served;
    const job = { machineConfig, facts, version: '3.4', maxBytes: Infinity } as const;
    const prepared = prepareNow(job);
    if (prepared.state !== 'ready') throw new Error(prepared.state);
    const { identity } = prepared.bytes;
    expect(identity.length).toBeGreaterThan(198_000);
    expect(identity.length).toBeLessThan(202_000);
    const config = JSON.parse(Buffer.from(identity).toString()) as IgnitionConfig;
    const written = config.storage?.files?.filter(({ path }) => path.startsWith('/etc/bench/'));
    expect(written).toHaveLength(FILES);
    expect(config.systemd?.units).toHaveLength(UNITS);

    const { id = '' } = parseJoinToken(token) ?? {};
    const tokens = await followBootstrapTokens(directory, {
      signal: abort.signal,
      log: createLogger({ process: 'server', level: 'silent' }),
    });
    expect(tokens.find(id)).toMatchObject({ pool: POOL });
  } finally {
    abort.abort();
    await rm(directory, { recursive: true, force: true });
  }
});
