/** What MCO refuses in a ContainerRuntimeConfig. */

import { goQuote } from '../encoding/go-quote';
import { parseQuantity, type Quantity } from '../encoding/quantity';
import type { ContainerRuntimeConfiguration, Store } from './types';

/** In bytes; exactly this many are refused, too. */
const MIN_LOG_SIZE = 8192n;
const MIN_PIDS = 20;
const LOG_LEVELS: readonly string[] = ['error', 'fatal', 'panic', 'warn', 'info', 'debug', 'trace'];
const RUNTIMES: readonly string[] = ['', 'runc', 'crun'];

/**
 * The first refusal in MCO's words, or undefined. No config at all is accepted.
 *
 * @throws Error for a quantity that the API server would have refused
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4),
 *   validateUserContainerRuntimeConfig
 */
export function containerRuntimeRefusal(
  config: ContainerRuntimeConfiguration | undefined,
): string | undefined {
  if (config === undefined) return undefined;
  return (
    pidsRefusal(config.pidsLimit) ??
    logSizeRefusal(quantityOf('logSizeMax', config.logSizeMax)) ??
    overlayRefusal(quantityOf('overlaySize', config.overlaySize)) ??
    logLevelRefusal(config.logLevel ?? '') ??
    runtimeRefusal(config.defaultRuntime ?? '') ??
    storesRefusal('AdditionalLayerStores', config.additionalLayerStores) ??
    storesRefusal('AdditionalImageStores', config.additionalImageStores) ??
    storesRefusal('AdditionalArtifactStores', config.additionalArtifactStores)
  );
}

/** @throws Error that names the field when the text is no quantity */
export function quantityOf(
  field: string,
  source: string | number | undefined,
): Quantity | undefined {
  if (source === undefined) return undefined;
  const quantity = parseQuantity(String(source));
  if (!('error' in quantity)) return quantity;
  throw new Error(
    `spec.containerRuntimeConfig.${field}: ${JSON.stringify(source)} is not a quantity; write for example 10G`,
  );
}

function pidsRefusal(limit: number | undefined): string | undefined {
  if (limit === undefined || limit === 0 || limit >= MIN_PIDS) return undefined;
  return `invalid PidsLimit ${limit}`;
}

function logSizeRefusal(size: Quantity | undefined): string | undefined {
  if (size === undefined || size.value <= 0n || size.value > MIN_LOG_SIZE) return undefined;
  return `invalid LogSizeMax ${goQuote(size.text)}, cannot be less than 8kB`;
}

function overlayRefusal(size: Quantity | undefined): string | undefined {
  if (size === undefined || size.value >= 0n) return undefined;
  return `invalid overlaySize ${goQuote(size.text)}, cannot be less than 0`;
}

function logLevelRefusal(level: string): string | undefined {
  if (level === '' || LOG_LEVELS.includes(level)) return undefined;
  const levels = 'error, fatal, panic, warn, info, debug, or trace';
  return `invalid LogLevel ${goQuote(level)}, must be one of ${levels}`;
}

function runtimeRefusal(runtime: string): string | undefined {
  if (RUNTIMES.includes(runtime)) return undefined;
  return `invalid DefaultRuntime ${goQuote(runtime)}, must be one of crun, runc`;
}

function storesRefusal(field: string, stores: readonly Store[] = []): string | undefined {
  for (const { path } of stores) {
    const refusal = pathRefusal(path);
    if (refusal !== undefined) return `invalid ${field} path ${goQuote(path)}: ${refusal}`;
  }
  return undefined;
}

function pathRefusal(path: string): string | undefined {
  if (!/^\/[a-zA-Z0-9/._-]+$/.test(path)) {
    return "must be an absolute path containing only alphanumeric characters, '/', '.', '_', and '-'";
  }
  return path.includes('//') ? 'must not contain consecutive forward slashes' : undefined;
}
