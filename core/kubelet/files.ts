/** The files that tell a kubelet its configuration. */

import type { GeneratedFile } from '../generated-configs';
import { encodeKubeletConfiguration } from './encode';
import type { GoFields } from './schema-types';
import type { UserKubeletConfig } from './types';
import type { Sized } from './user-configuration';

export const KUBELET_CONF = '/etc/kubernetes/kubelet.conf';
const LOGGING_CONF = '/etc/systemd/system/kubelet.service.d/20-logging.conf';
/** Read by the unit of the kubelet. */
export const NODE_SIZING = '/etc/node-sizing-enabled.env';

/** kubelet.conf, or the reason why YAML cannot hold a text in it. */
export function kubeletConf(
  configuration: GoFields,
): { readonly file: GeneratedFile } | { readonly error: string } {
  try {
    return { file: { path: KUBELET_CONF, contents: encodeKubeletConfiguration(configuration) } };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { error: `could not encode kubelet configuration: ${error.message}` };
  }
}

/** The log level of the kubelet's unit; none when the user says nothing. */
export function loggingFiles({ logLevel }: UserKubeletConfig): readonly GeneratedFile[] {
  if (logLevel === undefined) return [];
  const contents = `[Service]\nEnvironment="KUBELET_LOG_LEVEL=${logLevel}"\n`;
  return [{ path: LOGGING_CONF, contents }];
}

/** What the service reads that sizes what the system reserves; reserved values turn it off. */
export function nodeSizingFiles(
  { autoSizingReserved }: UserKubeletConfig,
  sized: Sized,
): readonly GeneratedFile[] {
  const hasValues = Object.keys(sized).length > 0;
  if (autoSizingReserved === undefined && !hasValues) return [];
  const lines = [
    `NODE_SIZING_ENABLED=${hasValues ? false : (autoSizingReserved ?? false)}`,
    `SYSTEM_RESERVED_MEMORY=${filled(sized.memory, '1Gi')}`,
    `SYSTEM_RESERVED_CPU=${filled(sized.cpu, '500m')}`,
    `SYSTEM_RESERVED_ES=${filled(sized['ephemeral-storage'], '1Gi')}`,
  ];
  return [{ path: NODE_SIZING, contents: lines.map((line) => `${line}\n`).join('') }];
}

function filled(value: string | undefined, standard: string): string {
  return value === undefined || value === '' ? standard : value;
}
