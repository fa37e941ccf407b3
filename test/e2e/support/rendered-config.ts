/**
 * The state that a rendered config wants on a host. Decodes with Node's own means only: product code would agree with its
 * own mistakes.
 */

import { gunzipSync } from 'node:zlib';
import type { ApiClient } from '../../../tools/cluster';

export interface RenderedConfig {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly osImageURL?: string;
    readonly kernelArguments?: readonly string[];
    readonly kernelType?: string;
    readonly extensions?: readonly string[];
    readonly config: {
      readonly storage?: { readonly files?: readonly IgnitionFile[] };
      readonly systemd?: { readonly units?: readonly IgnitionUnit[] };
      readonly passwd?: {
        readonly users?: readonly {
          readonly name?: string;
          readonly passwordHash?: string;
          readonly sshAuthorizedKeys?: readonly string[];
        }[];
      };
    };
  };
}

interface IgnitionResource {
  readonly source?: string;
  readonly compression?: string;
}

interface IgnitionFile {
  readonly path: string;
  readonly mode?: number;
  readonly overwrite?: boolean;
  readonly user?: Account;
  readonly group?: Account;
  readonly contents?: IgnitionResource;
  readonly append?: readonly IgnitionResource[];
}

export interface IgnitionUnit {
  readonly name: string;
  readonly contents?: string;
  readonly enabled?: boolean;
  readonly mask?: boolean;
  readonly dropins?: readonly { readonly name: string; readonly contents?: string }[];
}

/** By number or by name; neither = root. */
export interface Account {
  readonly id?: number;
  readonly name?: string;
}

export type Wanted =
  | {
      readonly kind: 'file';
      /** `after` = appended to what was there before any config had the path; absent = any contents. */
      readonly bytes?: () => Buffer;
      readonly after?: true;
      /** Absent, like the accounts = the config does not set it. */
      readonly mode?: number;
      readonly user?: Account;
      readonly group?: Account;
    }
  | { readonly kind: 'mask' }
  | { readonly kind: 'absent' }
  /** A unit without contents that must not be masked. */
  | { readonly kind: 'unmasked' };

export type WantedPaths = ReadonlyMap<string, Wanted>;
export type RenderedConfigs = ReadonlyMap<string, RenderedConfig>;

export const UNITS = '/etc/systemd/system';
const SSH_KEYS = '/home/core/.ssh/authorized_keys.d/ignition';
/** The only user that configs may have. */
export const CORE = 'core';
const ROOT: Account = { id: 0 };

export async function renderedConfigs(api: ApiClient): Promise<RenderedConfigs> {
  const { items } = await api.call<{ readonly items: readonly RenderedConfig[] }>(
    'GET',
    '/apis/machineconfiguration.openshift.io/v1/machineconfigs',
  );
  const rendered = items.filter(({ metadata }) => metadata.name.startsWith('rendered-'));
  return new Map(rendered.map((config) => [config.metadata.name, config]));
}

/** Every path of the config. Of two entries for one path the later one counts. */
export function wantedPaths({ spec }: RenderedConfig): WantedPaths {
  const wanted = new Map<string, Wanted>();
  for (const file of spec.config.storage?.files ?? []) wanted.set(file.path, wantedFile(file));
  for (const unit of spec.config.systemd?.units ?? []) {
    for (const { name, contents } of unit.dropins ?? []) {
      wanted.set(`${UNITS}/${unit.name}.d/${name}`, contents ? text(contents) : { kind: 'absent' });
    }
    const own = wantedUnit(unit);
    if (own !== undefined) wanted.set(`${UNITS}/${unit.name}`, own);
  }
  const keys = (spec.config.passwd?.users ?? [])
    .filter(({ name = CORE }) => name === CORE)
    .flatMap((user) => user.sshAuthorizedKeys ?? []);
  if (keys.length > 0) {
    const owner = { name: CORE };
    const lines = keys.map((key) => `${key}\n`).join('');
    wanted.set(SSH_KEYS, { ...text(lines), mode: 0o600, user: owner, group: owner });
  }
  return wanted;
}

function wantedUnit({ contents, mask }: IgnitionUnit): Wanted | undefined {
  if (mask === true) return { kind: 'mask' };
  if (contents) return text(contents);
  return mask === false ? { kind: 'unmasked' } : undefined;
}

function text(contents: string) {
  const bytes = () => Buffer.from(contents);
  return { kind: 'file', bytes, mode: 0o644, user: ROOT, group: ROOT } as const;
}

function wantedFile({ contents, append = [], overwrite, ...file }: IgnitionFile): Wanted {
  const replaced = contents?.source !== undefined;
  const pieces = [...(replaced ? [contents] : []), ...append];
  const said = {
    ...(file.mode === undefined ? {} : { mode: file.mode }),
    ...(file.user === undefined ? {} : { user: file.user }),
    ...(file.group === undefined ? {} : { group: file.group }),
  };
  const bytes = () => Buffer.concat(pieces.map(decoded));
  if (!replaced && append.length > 0) return { kind: 'file', ...said, bytes, after: true };
  if (!replaced && overwrite === false) return { kind: 'file', ...said };
  return { kind: 'file', mode: 0o644, user: ROOT, group: ROOT, ...said, bytes };
}

function decoded({ source = 'data:,', compression }: IgnitionResource): Buffer {
  const bytes = fromUrl(source);
  return compression === 'gzip' ? gunzipSync(bytes) : bytes;
}

/** RFC 2397. */
function fromUrl(url: string): Buffer {
  const [, base64, data = ''] = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url) ?? [];
  return base64 === undefined
    ? Buffer.from(decodeURIComponent(data))
    : Buffer.from(decodeURIComponent(data), 'base64');
}
