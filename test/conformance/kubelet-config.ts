/** Cases of MCO's kubelet config controller. */

import { casesOf, isJsonObject, type ConformanceKind, type JsonObject } from './kind';
import { contextOf, type KubeletContext } from './kubelet-config-context';
import { KUBELET_FUNCTIONS } from './kubelet-config-functions';

export const kubeletConfigKind: ConformanceKind = {
  name: 'kubelet config',
  matches: (file) =>
    isJsonObject(file) &&
    isJsonObject(file['context']) &&
    Object.keys(templatesOf(file['context'])).some((name) => name.includes('kubelet.conf')),
  cases: (file) => {
    const context = contextOf(isJsonObject(file) ? file['context'] : undefined);
    return (casesOf(file) ?? []).map((each) => ({
      name: String(each['name']),
      run: () => ({ expected: each['expected'], actual: answer(each['input'], context) }),
    }));
  },
};

function templatesOf(context: JsonObject): JsonObject {
  const templates = context['templates'];
  return isJsonObject(templates) ? templates : {};
}

/** Throws for a function or a key that nothing here reads: such a case verifies nothing. */
function answer(input: unknown, context: KubeletContext): unknown {
  if (!isJsonObject(input)) throw new Error('the case has no input');
  const { function: name, ...args } = input;
  const known = KUBELET_FUNCTIONS.get(String(name));
  if (known === undefined) throw new Error(`no function is known as ${String(name)}`);
  const unknown = Object.keys(args).find((key) => !known.keys.includes(key));
  if (unknown !== undefined) throw new Error(`${String(name)}: unknown key ${unknown}`);
  return known.run(args, context);
}
