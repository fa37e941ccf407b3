/** The kubelet's configuration as YAML. */

import { formatGoDuration } from '../encoding/go-duration';
import { isRecord } from '../is-record';
import { toYaml, YamlFloat, type YamlValue } from '../yaml/write-yaml';
import { zero } from './decode-json';
import { KUBELET_CONFIGURATION } from './schema';
import type { GoField, GoFields, GoStructType, GoType, GoValue } from './schema-types';

/**
 * Writes the whole struct with sorted keys: also zero values that Go does not omit.
 *
 * @throws RangeError when a text has a control character that YAML cannot hold
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), EncodeKubeletConfig
 */
export function encodeKubeletConfiguration(configuration: GoFields): string {
  return toYaml(
    encodeStruct(KUBELET_CONFIGURATION, {
      ...configuration,
      kind: 'KubeletConfiguration',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
    }),
  );
}

function encodeStruct(type: GoStructType, value: GoFields): YamlValue {
  const fields = type.fields.flatMap((field) => {
    const written = value[field.name];
    return isOmitted(field, written) ? [] : [[field.name, encode(field.type, written)] as const];
  });
  return Object.fromEntries(fields);
}

function isOmitted({ pointer, omitEmpty, type }: GoField, value: GoValue | undefined): boolean {
  if (pointer) return value === undefined;
  return omitEmpty && isEmpty(type, value);
}

/** What `omitempty` omits: never a struct, and durations and quantities are structs. */
function isEmpty(type: GoType, value: GoValue | undefined): boolean {
  switch (type.kind) {
    case 'string':
    case 'bool':
    case 'int':
    case 'float64':
      return value === undefined || value === zero(type);
    case 'list':
    case 'map':
      return value === undefined || value === null || Object.keys(value).length === 0;
    default:
      return false;
  }
}

function encode(type: GoType, value: GoValue | undefined = zero(type)): YamlValue {
  if (value === null) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return new YamlFloat(value);
  if (typeof value === 'bigint') {
    return type.kind === 'duration' ? formatGoDuration(value) : value;
  }
  if (Array.isArray(value)) {
    const of = type.kind === 'list' ? type.of : type;
    return value.map((item: GoValue) => encode(of, item));
  }
  if (type.kind === 'struct') return encodeStruct(type, value as GoFields);
  if (type.kind === 'map') return encodeMap(type.of, value as GoFields);
  return timeOrDuration(value);
}

function encodeMap(of: GoType, value: GoFields): YamlValue {
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, encode(of, each)]));
}

function timeOrDuration(value: object): YamlValue {
  const nanoseconds = isRecord(value) ? value['nanoseconds'] : undefined;
  if (typeof nanoseconds !== 'bigint') throw new TypeError('a duration has no nanoseconds');
  return isRecord(value) && value['asText'] === true ? formatGoDuration(nanoseconds) : nanoseconds;
}
