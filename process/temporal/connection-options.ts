import { readFileSync } from 'node:fs';
import { messageOf } from '../../core/errors';
import type { Logger } from '../logging';

/** Files are PEM, except that of the key. */
export interface TemporalPlace {
  /** `host:port` */
  readonly temporalAddress: string;
  /** False: no TLS, whatever files are named. True: also without any file. */
  readonly temporalTls?: boolean | undefined;
  readonly temporalTlsCa?: string | undefined;
  readonly temporalTlsCert?: string | undefined;
  readonly temporalTlsKey?: string | undefined;
  readonly temporalTlsServerName?: string | undefined;
  readonly temporalApiKey?: string | undefined;
  readonly temporalApiKeyFile?: string | undefined;
}

export interface ConnectionOptions {
  readonly address: string;
  readonly tls?: TemporalTls | true;
  readonly apiKey?: string;
}

interface TemporalTls {
  serverRootCACertificate?: Buffer;
  clientCertPair?: { crt: Buffer; key: Buffer };
  serverNameOverride?: string;
}

/** For the client of `@temporalio/client`: by default, gRPC waits up to two minutes before it connects again. */
export const RECONNECTS_SOON = {
  'grpc.initial_reconnect_backoff_ms': 500,
  'grpc.max_reconnect_backoff_ms': 5_000,
} as const;

/** Characters that an HTTP header may have. */
const KEY = /^[\x20-\x7e]+$/;

/**
 * An API key implies TLS.
 *
 * @throws an `Error` named SettingsError that names the setting and the file, and no secret
 */
export function connectionOptions(settings: TemporalPlace): ConnectionOptions {
  if (settings.temporalTls === false) return { address: settings.temporalAddress };
  const { temporalTlsCa, temporalTlsCert, temporalTlsKey, temporalTlsServerName } = settings;
  const tls: TemporalTls = {
    ...(temporalTlsCa === undefined
      ? {}
      : { serverRootCACertificate: readNamed('temporalTlsCa', temporalTlsCa) }),
    ...(temporalTlsCert === undefined || temporalTlsKey === undefined
      ? {}
      : {
          clientCertPair: {
            crt: readNamed('temporalTlsCert', temporalTlsCert),
            key: readNamed('temporalTlsKey', temporalTlsKey),
          },
        }),
    ...(temporalTlsServerName === undefined ? {} : { serverNameOverride: temporalTlsServerName }),
  };
  const apiKey = readApiKey(settings);
  const isNamed = Object.keys(tls).length > 0;
  const isWanted = isNamed || apiKey !== undefined || settings.temporalTls === true;
  return {
    address: settings.temporalAddress,
    ...(isWanted ? { tls: isNamed ? tls : true } : {}),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

/**
 * At the start of a pod, files may come later. Until then: a target that Temporal refuses, and never one
 * without TLS.
 */
export function firstConnectionOptions(settings: TemporalPlace, log: Logger): ConnectionOptions {
  try {
    return connectionOptions(settings);
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'waiting for the files of the connection to Temporal');
    return { address: settings.temporalAddress, tls: true };
  }
}

function readApiKey({ temporalApiKey, temporalApiKeyFile }: TemporalPlace): string | undefined {
  if (temporalApiKeyFile === undefined) return checkedKey('temporalApiKey', temporalApiKey);
  const text = readNamed('temporalApiKeyFile', temporalApiKeyFile).toString('utf8');
  return checkedKey(`temporalApiKeyFile: ${temporalApiKeyFile}`, text);
}

/** Checked here, because the library would quote a refused key. */
function checkedKey(where: string, text: string | undefined): string | undefined {
  const key = text?.trim();
  if (key === undefined || KEY.test(key)) return key;
  throw settingsError(`${where}: is no API key: expected one line of letters, digits and signs`);
}

function readNamed(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw settingsError(`${setting}: ${file} cannot be read: ${messageOf(error)}`);
  }
}

function settingsError(message: string): Error {
  return Object.assign(new Error(message), { name: 'SettingsError' });
}
