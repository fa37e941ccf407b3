/** The kubelet's configuration from a text that is JSON or YAML, as MCO reads it. */

import { readGoJson, type GoJson } from '../encoding/go-json-text';
import { decodeStruct } from './decode-json';
import { KUBELET_CONFIGURATION } from './schema';
import type { GoFields } from './schema-types';
import { yamlAsJson } from './yaml-as-json';

/**
 * Reads the one document of a YAML text by the rules of go-yaml v2. The value is one of JSON, with
 * `bigint` for integers that a `number` cannot hold exactly; an empty document is null. core/ has no
 * YAML parser of its own.
 */
export type ReadYaml = (text: string) => { readonly value: unknown } | { readonly problem: string };

export type DecodedKubeletConfiguration =
  { readonly configuration: GoFields } | { readonly error: string };

/**
 * Decodes a KubeletConfiguration. What begins with `{` is read as JSON; when that fails, as YAML, for
 * which more is a text than for JSON (`cpuManagerPolicy: 5`). The error is then that of JSON.
 *
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), DecodeKubeletConfig
 * @see apimachinery pkg/util/yaml, YAMLOrJSONDecoder
 */
export function decodeKubeletConfiguration(
  text: string,
  readYaml: ReadYaml,
): DecodedKubeletConfiguration {
  if (text === '') return { error: 'EOF' };
  if (!/^\s*\{/.test(text)) return decodeYaml(text, readYaml);
  const asJson = decodeJson(text);
  if (!('error' in asJson)) return asJson;
  const asYaml = decodeYaml(text, readYaml);
  return 'error' in asYaml ? asJson : asYaml;
}

/** The text as a JSON value as it is written, undefined when it is neither JSON nor YAML. */
export function readKubeletConfigurationText(text: string, readYaml: ReadYaml): GoJson | undefined {
  const json = /^\s*\{/.test(text) ? readGoJson(text) : undefined;
  if (json !== undefined && 'value' in json) return json.value;
  const document = firstDocument(text);
  if ('error' in document) return undefined;
  const read = readYaml(document.text);
  return 'problem' in read ? undefined : yamlAsJson(undefined, read.value);
}

function decodeJson(text: string): DecodedKubeletConfiguration {
  const read = readGoJson(text);
  if ('error' in read) {
    const { error, offset } = read;
    return { error: offset === undefined ? error : `json: offset ${offset}: ${error}` };
  }
  return decoded(read.value);
}

function decodeYaml(text: string, readYaml: ReadYaml): DecodedKubeletConfiguration {
  const document = firstDocument(text);
  if ('error' in document) return document;
  const read = readYaml(document.text);
  if ('problem' in read) return { error: `error converting YAML to JSON: yaml: ${read.problem}` };
  const result = decoded(yamlAsJson(KUBELET_CONFIGURATION, read.value));
  if (!('error' in result)) return result;
  return { error: `error unmarshaling JSON: while decoding JSON: ${result.error}` };
}

function decoded(json: GoJson): DecodedKubeletConfiguration {
  const read = decodeStruct(KUBELET_CONFIGURATION, json);
  return 'error' in read ? read : { configuration: read.value };
}

/** Of several documents only the first counts. */
function firstDocument(text: string): { readonly text: string } | { readonly error: string } {
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('---')) {
      const after = line.slice(3).trim();
      if (after !== '' && !after.startsWith('#')) {
        return { error: `invalid Yaml document separator: ${after}` };
      }
      if (lines.length > 0) break;
    }
    lines.push(line);
  }
  return { text: lines.join('\n') };
}
