/** 60 files and 20 units whose first config has a given size. */

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { joinTokenSecret } from '../adapters/kube/join-tokens';
import { readManifestObjects } from '../adapters/manifests';
import { bootstrapFiles, renderManifests } from '../controllers/offline';
import { newJoinToken } from '../core/join';
import type { MachineConfig } from '../core/machine-config';
import { MCO_GROUP } from '../core/names';
import { rfc3339 } from '../core/rfc3339';
import { prepareNow } from '../server/ignition/prepare';

export const FILES = 60;
export const UNITS = 20;
export const POOL = 'master';

const API_VERSION = `${MCO_GROUP}/v1`;

/**
 * Fills a directory for `slipway server --bootstrap-dir`, such that the reply at spec 3.4 has this
 * many bytes, within one percent.
 *
 * @returns a join token of the pool
 */
export async function writeServedConfig(directory: string, replyBytes: number): Promise<string> {
  const least = replySize(renderedWith(0));
  const perByte = (replySize(renderedWith(1_000)) - least) / 1_000;
  const render = renderManifestsWith(Math.round((replyBytes - least) / perByte));
  const { text, secret } = tokenFor();
  const files = [...bootstrapFiles(render), ['join-tokens/bench.yaml', secret] as const];
  for (const [path, content] of files) {
    await mkdir(join(directory, path, '..'), { recursive: true });
    await writeFile(join(directory, path), content, { mode: 0o600 });
  }
  return text;
}

function tokenFor(): { readonly text: string; readonly secret: string } {
  const { id, hash, text } = newJoinToken(randomBytes);
  const now = Date.now();
  const record = {
    id,
    pool: POOL,
    hash,
    createdAt: rfc3339(now),
    expiresAt: rfc3339(now + 24 * 3_600_000),
  };
  return { text, secret: JSON.stringify(joinTokenSecret(record)) };
}

function replySize(machineConfig: MachineConfig): number {
  const prepared = prepareNow({ machineConfig, facts: {}, version: '3.4', maxBytes: Infinity });
  if (prepared.state !== 'ready') throw new Error(`the config is ${prepared.state}`);
  return prepared.bytes.identity.length;
}

function renderedWith(contentBytes: number): MachineConfig {
  const [pool] = renderManifestsWith(contentBytes).pools;
  if (pool === undefined) throw new Error('the pool was not rendered');
  return { metadata: { name: pool.rendered.name }, spec: pool.rendered.spec };
}

function renderManifestsWith(contentBytes: number) {
  const text = [poolManifest(), configManifest(contentBytes)].map((one) => JSON.stringify(one));
  const { objects, problems } = readManifestObjects([
    { path: 'bench', text: text.join('\n---\n') },
  ]);
  const render = renderManifests({
    rest: 'none',
    objects,
    unreadable: problems,
    earlier: new Map(),
    version: 'bench',
  });
  const [first] = render.findings;
  if (first !== undefined) throw new Error(`${first.field ?? ''}: ${first.problem}`);
  return render;
}

function poolManifest(): object {
  return {
    apiVersion: API_VERSION,
    kind: 'MachineConfigPool',
    metadata: { name: POOL },
    spec: {
      machineConfigSelector: { matchLabels: { [`${MCO_GROUP}/role`]: POOL } },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${POOL}`]: '' } },
    },
  };
}

function configManifest(contentBytes: number): object {
  const files = Array.from({ length: FILES }, (_, i) => ({
    path: `/etc/bench/file-${i}.conf`,
    mode: 0o644,
    overwrite: true,
    contents: { source: `data:;base64,${textOf(contentBytes, i).toString('base64')}` },
  }));
  const units = Array.from({ length: UNITS }, (_, i) => ({
    name: `bench-${i}.service`,
    enabled: i % 2 === 0,
    contents: `[Unit]\nDescription=Unit ${i}\n\n[Service]\nExecStart=/usr/bin/true ${i}\n\n[Install]\nWantedBy=multi-user.target\n`,
  }));
  return {
    apiVersion: API_VERSION,
    kind: 'MachineConfig',
    metadata: { name: `00-${POOL}`, labels: { [`${MCO_GROUP}/role`]: POOL } },
    spec: {
      config: { ignition: { version: '3.4.0' }, storage: { files }, systemd: { units } },
    },
  };
}

/** Lines compress about as well as real configs. */
function textOf(bytes: number, seed: number): Buffer {
  const lines: string[] = [];
  for (let i = 0, size = 0; size < bytes; i++) {
    const value = createHash('sha256').update(`${seed}/${i}`).digest('hex').slice(0, 24);
    const line = `setting.${i}.of.file.${seed} = ${value}\n`;
    lines.push(line);
    size += line.length;
  }
  return Buffer.from(lines.join('').slice(0, bytes));
}
