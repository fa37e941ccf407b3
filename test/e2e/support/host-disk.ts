/**
 * What is on the disk of a host, compared with a rendered config. Decodes everything by itself, with
 * Node's own means: product code would agree with its own mistakes.
 */

import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ApiClient } from '../../../tools/cluster';

interface RenderedConfig {
  readonly spec: {
    readonly config: {
      readonly storage?: { readonly files?: readonly IgnitionFile[] };
      readonly systemd?: { readonly units?: readonly IgnitionUnit[] };
      readonly passwd?: {
        readonly users?: readonly { readonly sshAuthorizedKeys?: readonly string[] }[];
      };
    };
  };
}

interface IgnitionFile {
  readonly path: string;
  readonly mode?: number;
  readonly contents?: { readonly source?: string; readonly compression?: string };
}

interface IgnitionUnit {
  readonly name: string;
  readonly contents?: string;
  readonly enabled?: boolean;
  readonly dropins?: readonly { readonly name: string; readonly contents?: string }[];
}

interface Expected {
  readonly bytes: Buffer;
  readonly mode: number;
}

const UNITS = '/etc/systemd/system';
const SSH_KEYS = '/home/core/.ssh/authorized_keys.d/ignition';

/** Everything on the host that is not as the rendered config wants it; empty = byte for byte equal. */
export async function differences(
  api: ApiClient,
  config: string,
  root: string,
): Promise<readonly string[]> {
  const rendered = await api.call<RenderedConfig>(
    'GET',
    `/apis/machineconfiguration.openshift.io/v1/machineconfigs/${config}`,
  );
  const found: string[] = [];
  for (const [path, expected] of expectedFiles(rendered)) {
    found.push(...(await compare(join(root, path), path, expected)));
  }
  for (const unit of rendered.spec.config.systemd?.units ?? []) {
    if (unit.enabled === true && unit.contents !== undefined) {
      found.push(...(await enablementDifferences(root, unit.name)));
    }
  }
  return found;
}

/** Every path that the config wants, with its bytes. */
export function expectedFiles({ spec }: RenderedConfig): ReadonlyMap<string, Expected> {
  const expected = new Map<string, Expected>();
  for (const { path, mode = 0o644, contents } of spec.config.storage?.files ?? []) {
    const bytes = decode(contents?.source ?? 'data:,');
    expected.set(path, {
      mode,
      bytes: contents?.compression === 'gzip' ? gunzipSync(bytes) : bytes,
    });
  }
  for (const { name, contents, dropins = [] } of spec.config.systemd?.units ?? []) {
    const text = (path: string, value: string | undefined): void => {
      if (value) expected.set(path, { mode: 0o644, bytes: Buffer.from(value) });
    };
    text(`${UNITS}/${name}`, contents);
    for (const dropin of dropins) text(`${UNITS}/${name}.d/${dropin.name}`, dropin.contents);
  }
  const keys = (spec.config.passwd?.users ?? []).flatMap((user) => user.sshAuthorizedKeys ?? []);
  if (keys.length > 0) {
    const bytes = Buffer.from(keys.map((key) => `${key}\n`).join(''));
    expected.set(SSH_KEYS, { mode: 0o600, bytes });
  }
  return expected;
}

/** RFC 2397, by the book. */
function decode(url: string): Buffer {
  const [, base64, data = ''] = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url) ?? [];
  return base64 === undefined
    ? Buffer.from(decodeURIComponent(data))
    : Buffer.from(decodeURIComponent(data), 'base64');
}

async function compare(real: string, path: string, expected: Expected): Promise<readonly string[]> {
  let status;
  try {
    status = await lstat(real);
  } catch {
    return [`${path} is missing`];
  }
  if (!status.isFile()) return [`${path} is no file`];
  const mode = status.mode & 0o7777;
  const bytes = await readFile(real);
  return [
    ...(mode === expected.mode
      ? []
      : [`${path} has mode ${mode.toString(8)}, not ${expected.mode.toString(8)}`]),
    ...(bytes.equals(expected.bytes)
      ? []
      : [`${path} has other bytes: ${JSON.stringify(bytes.toString().slice(0, 80))}`]),
  ];
}

async function enablementDifferences(root: string, unit: string): Promise<readonly string[]> {
  const link = join(root, UNITS, 'multi-user.target.wants', unit);
  const target = await readlink(link).catch(() => undefined);
  return target?.endsWith(unit) === true ? [] : [`${unit} is not enabled`];
}

/** Whose state the product keeps beside the files; it is no part of what a config wants. */
const OWN = ['var/lib/slipway', 'etc/machine-config-daemon', '.slipway-owners.json'];

/** Every path below the root with type, mode and bytes: two equal pictures are equal disks. */
export async function pictureOf(root: string, below = ''): Promise<readonly string[]> {
  const lines: string[] = [];
  const entries = await readdir(join(root, below), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (OWN.includes(path)) continue;
    const mode = ((await lstat(join(root, path))).mode & 0o7777).toString(8);
    if (entry.isSymbolicLink()) lines.push(`${path} -> ${await readlink(join(root, path))}`);
    else if (entry.isDirectory()) lines.push(`${path}/ ${mode}`, ...(await pictureOf(root, path)));
    else lines.push(`${path} ${mode} ${(await readFile(join(root, path))).toString('base64')}`);
  }
  return lines;
}
