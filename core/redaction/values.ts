/** Takes secrets out of JSON: objects of Kubernetes, payloads of Temporal. The form of the value stays. */

import { isRecord } from '../is-record';
import { redactIgnition, redactMachineConfigSpec, type IgnitionPorts } from './ignition';
import { isSecretName } from './secret-names';
import { GONE, redactText } from './text';

/** Of an annotation; longer ones are manifests, whose secrets have any form. */
const MOST_CHARACTERS = 2048;
const NEEDLESS = new Set(['managedFields']);
const MANIFEST_ANNOTATION = /last-applied-configuration$/;
/** Of Secret and ConfigMap; only the names of their entries stay. */
const DATA = new Set(['data', 'stringData', 'binaryData']);
/** In a field that holds secrets, these say where. */
const WHERE = new Set(['name', 'secretName', 'path', 'audience', 'namespace']);
/** Variables of Slipway and Kubernetes, which are settings. Those of others may have any value. */
const SETTING = /^(SLIPWAY|TEMPORAL|KUBERNETES|NODE|POD)_[A-Z0-9_]+$/;

export function redactValue(value: unknown, ports: IgnitionPorts): unknown {
  const walk = (inner: unknown, name: string, isSecret: boolean): unknown => {
    if (typeof inner === 'string') return isSecret ? hidden(inner) : redactString(inner, walk);
    if (typeof inner === 'number' && isSecret) return GONE;
    if (Array.isArray(inner)) return list(inner, name, isSecret);
    return isRecord(inner) ? fields(inner, isSecret) : inner;
  };
  const list = (items: readonly unknown[], name: string, isSecret: boolean): unknown =>
    items.map((item, index) => {
      const flag: unknown = items[index - 1];
      const followsFlag =
        typeof flag === 'string' &&
        flag.startsWith('-') &&
        isSecretName(flag) &&
        !flag.includes('=');
      if (name === 'env' && isRecord(item)) return variable(item);
      return walk(item, name, isSecret || followsFlag);
    });
  /** `{name: AUTHORIZATION, value: …}`, also of headers. */
  const variable = (item: Readonly<Record<string, unknown>>): unknown => {
    const kept = typeof item['name'] === 'string' && SETTING.test(item['name']);
    const shown = fields(item, false);
    return kept || !('value' in item) ? shown : { ...shown, value: hidden(item['value']) };
  };
  const fields = (object: Readonly<Record<string, unknown>>, isSecret: boolean) => {
    const ofStore = object['kind'] === 'Secret' || object['kind'] === 'ConfigMap';
    const hasSecretName = typeof object['name'] === 'string' && isSecretName(object['name']);
    const shown = Object.entries(object).flatMap(([key, inner]): [string, unknown][] => {
      if (NEEDLESS.has(key)) return [];
      if (ofStore && DATA.has(key)) return [[key, withoutValues(inner)]];
      if (key === 'annotations' && isRecord(inner)) return [[key, annotations(inner)]];
      if (key === 'spec' && object['kind'] === 'MachineConfig') {
        return [[key, redactMachineConfigSpec(inner, ports, (other) => walk(other, key, false))]];
      }
      if (isRecord(inner) && isIgnition(inner)) return [[key, redactIgnition(inner, ports)]];
      const hidesIt =
        isSecretName(key) ||
        (isSecret && !WHERE.has(key)) ||
        (key === 'value' && hasSecretName && typeof inner === 'string');
      return [[key, walk(inner, key, hidesIt)]];
    });
    return Object.fromEntries(shown);
  };
  const annotations = (all: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(
      Object.entries(all).map(([key, text]) => {
        const isManifest =
          MANIFEST_ANNOTATION.test(key) ||
          (typeof text === 'string' && text.length > MOST_CHARACTERS);
        return [key, isManifest ? hidden(text) : walk(text, key, isSecretName(key))];
      }),
    );
  return isRecord(value) && isIgnition(value)
    ? redactIgnition(value, ports)
    : walk(value, '', false);
}

function isIgnition(object: Readonly<Record<string, unknown>>): boolean {
  return isRecord(object['ignition']) && typeof object['ignition']['version'] === 'string';
}

/** A text that is JSON is looked through as such. */
function redactString(
  text: string,
  walk: (inner: unknown, name: string, isSecret: boolean) => unknown,
): string {
  if (!/^\s*[{[]/.test(text)) return redactText(text);
  try {
    return JSON.stringify(walk(JSON.parse(text) as unknown, '', false));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return redactText(text);
  }
}

function hidden(value: unknown): unknown {
  if (typeof value !== 'string') return GONE;
  return value === '' ? '' : `(redacted: ${value.length} characters)`;
}

function withoutValues(data: unknown): unknown {
  return isRecord(data)
    ? Object.fromEntries(Object.entries(data).map(([key, value]) => [key, hidden(value)]))
    : GONE;
}
