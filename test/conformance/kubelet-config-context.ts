/** What all cases of a file share: the texts of kubelet.conf, and the version of the controller. */

import { readYamlDocument } from '../../adapters/manifests';
import { roleOf } from '../../core/generated-configs';
import { securityProfileCiphers } from '../../core/kubelet';
import { isJsonObject, type JsonObject } from './kind';

export const READ_YAML = readYamlDocument;

export interface KubeletContext {
  readonly controllerVersion: string;
  /** kubelet.conf with the values of Intermediate, as `01-<role>-kubelet` holds it. */
  baseText(pool: string): string;
  /** The same with another template. */
  fill(template: string): string;
}

export function contextOf(context: JsonObject): KubeletContext {
  const { templates, controllerConfig, controllerVersion } = context;
  const clusterDns = isJsonObject(controllerConfig) ? controllerConfig['clusterDNSIP'] : undefined;
  const fill = (template: string): string => filled(template, String(clusterDns));
  return {
    controllerVersion: String(controllerVersion),
    fill,
    baseText: (pool) => fill(templateOf(isJsonObject(templates) ? templates : {}, roleOf(pool))),
  };
}

function templateOf(templates: JsonObject, role: string): string {
  const text = templates[`/etc/kubernetes/kubelet.conf of role ${role}`];
  if (typeof text !== 'string') throw new Error(`context.templates has none of role ${role}`);
  return text;
}

const CIPHERS = /\s*\{\{- range \.TLSCipherSuites \}\}([\s\S]*?)\s*\{\{- end \}\}/g;

function filled(template: string, clusterDns: string): string {
  const { minTLSVersion, cipherSuites } = securityProfileCiphers(undefined);
  const text = template
    .replace(CIPHERS, (_, body: string) =>
      cipherSuites.map((suite) => body.replaceAll('{{ . }}', suite)).join(''),
    )
    .replaceAll(/\{\{ ?\.TLSMinVersion ?\}\}/g, minTLSVersion)
    .replaceAll(/\{\{ ?\.ClusterDNSIP ?\}\}/g, clusterDns);
  if (text.includes('{{')) throw new Error('the template has a field that is not known here');
  return text;
}
