/** Where machines find the server, and whom they trust there: from flags, else from the cluster. */

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { messageOf } from '../../core/errors';
import { NAMESPACE, ORDER_KEYS_CONFIG_MAP } from '../../core/names';
import { readOrderKeys } from '../../core/orders';
import { cliError, EXIT } from '../exit-codes';
import type { ServerFacts } from '../ports';

/** `-` is standard input. */
export type ReadText = (path: string) => Promise<string>;

export const readText: ReadText = (path) =>
  path === '-' ? textOf(process.stdin) : readFile(path, 'utf8');

/** As in MCO. */
const SERVER_PORT = 22_623;

export async function readInput(flag: string, path: string, read: ReadText): Promise<string> {
  try {
    return await read(path);
  } catch (error) {
    throw cliError(EXIT.USAGE, `${flag} ${path}: ${messageOf(error)}`);
  }
}

export function serverUrlOf(given: string | undefined, { internalHost }: ServerFacts): string {
  if (given === undefined) {
    if (internalHost !== undefined) return `https://${internalHost}:${SERVER_PORT}`;
    throw cliError(
      EXIT.USAGE,
      `the ControllerConfig does not say where machines find the server (spec.infra.status.apiServerInternalURI); give --server-url https://<host>:32623, the node port of service slipway/slipway-server`,
    );
  }
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isPlain = url !== undefined && url.search + url.hash + url.username + url.password === '';
  if (url?.protocol === 'https:' && isPlain) return url.href;
  throw cliError(
    EXIT.USAGE,
    `--server-url: expected https://<host>:${SERVER_PORT}, without user, query or fragment`,
  );
}

interface AuthoritySource {
  readonly facts: ServerFacts;
  readonly read: ReadText;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export async function authorityOf(
  caFile: string | undefined,
  { facts, read, now }: AuthoritySource,
): Promise<string> {
  if (caFile !== undefined) {
    const pem = await readInput('--ca-file', caFile, read);
    return certificatesOf(pem, `--ca-file ${caFile}`, now);
  }
  if (facts.serverCa !== undefined) {
    return certificatesOf(facts.serverCa, 'configmap slipway/slipway-server-ca', now);
  }
  if (facts.rootCa !== undefined) {
    return certificatesOf(facts.rootCa, 'spec.rootCAData of the ControllerConfig', now);
  }
  throw cliError(
    EXIT.USAGE,
    'there is neither configmap slipway/slipway-server-ca nor spec.rootCAData of the ControllerConfig; give the authority of the server with --ca-file',
  );
}

/** @returns the text of `/etc/slipway/order-keys.json` of a machine */
export async function orderKeysOf(
  file: string | undefined,
  { facts, read }: Pick<AuthoritySource, 'facts' | 'read'>,
): Promise<string> {
  const object = `configmap ${NAMESPACE}/${ORDER_KEYS_CONFIG_MAP}`;
  const text = file === undefined ? facts.orderKeys : await readInput(FILE_FLAG, file, read);
  if (text === undefined) {
    throw cliError(
      EXIT.USAGE,
      `there is no ${object}, which the cluster worker makes when it starts; give its keys.json with ${FILE_FLAG}`,
    );
  }
  try {
    readOrderKeys(text);
    return text;
  } catch (error) {
    const source = file === undefined ? object : `${FILE_FLAG} ${file}`;
    throw cliError(EXIT.USAGE, `${source}: ${messageOf(error)}`);
  }
}

const FILE_FLAG = '--order-keys-file';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** A key beside the certificates must not be printed. */
function certificatesOf(pem: string, source: string, now: number): string {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length === 0)
    throw cliError(EXIT.USAGE, `${source}: there is no PEM certificate in it`);
  const ends = blocks.map((block) => endOf(block, source));
  const last = Math.max(...ends);
  if (last <= now) {
    throw cliError(EXIT.USAGE, `${source}: it expired at ${new Date(last).toISOString()}`);
  }
  return `${blocks.join('\n')}\n`;
}

function endOf(block: string, source: string): number {
  try {
    return Date.parse(new X509Certificate(block).validTo);
  } catch (error) {
    throw cliError(EXIT.USAGE, `${source}: a certificate cannot be read: ${messageOf(error)}`);
  }
}
