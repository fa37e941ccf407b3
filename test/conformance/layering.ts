/**
 * OS images of a case: annotations of its nodes, MachineOSConfig and MachineOSBuild of its pool. Keys are read by
 * what they name (`CurImg`, `CurrentImage`; `MOSBConfig`, `BuildConfig`, `MOSB: {Config, State}`). An unknown key
 * is an error: a case that is partly ignored verifies nothing.
 */

import type { Layering, MachineOSBuild, MachineOSConfig } from '../../core/pool';
import { isJsonObject, type JsonObject } from './kind';

/** The names in MCO's own tests. */
const DEFAULT_NAMES = { config: 'mosc-1', build: 'mosb-1' } as const;

/** Facts about one object; absent = not given. */
interface Said {
  /** False = the object does not exist. */
  exists?: boolean;
  name?: string;
  image?: string;
  of?: string;
  state?: string;
  /** Value of `MOSC: text`, `MOSB: text`: image or config, or the name when another key has these. */
  bare?: string;
}

/** The image annotations of a node. Throws at a key that is neither in `known` nor an image. */
export function imagesOf(
  node: JsonObject,
  known: ReadonlySet<string>,
): { readonly current?: string; readonly desired?: string } {
  const images: { current?: string; desired?: string } = {};
  for (const [key, value] of Object.entries(node)) {
    if (known.has(key)) continue;
    const side = /^cur\w*im(g|age)/i.test(key)
      ? 'current'
      : /^des\w*im(g|age)/i.test(key)
        ? 'desired'
        : undefined;
    if (side === undefined) throw new Error(`node ${String(node['Name'])}: unknown key ${key}`);
    const image = textOf(key, value);
    if (image !== '') images[side] = image;
  }
  return images;
}

/**
 * The layering of a pool. `Layered` alone means both objects, with a build of the pool's own config.
 *
 * @param known - keys that other code reads
 * @param ownConfig - target of the pool
 */
export function layeringOf(
  input: JsonObject,
  known: ReadonlySet<string>,
  ownConfig: string | undefined,
): Layering {
  const config: Said = {};
  const build: Said = {};
  let layered: boolean | undefined;
  for (const [key, value] of Object.entries(input)) {
    if (known.has(key)) continue;
    if (/^(is)?layered(pool)?$/i.test(key)) layered = truthOf(key, value);
    else if (/mosb|build/i.test(key)) note(build, 'build', { key, value });
    else if (/mosc|machineosconfig|im(g|age)|pullspec/i.test(key)) {
      note(config, 'config', { key, value });
    } else throw new Error(`unknown key ${key}`);
  }
  if (layered === false) return {};
  if (layered === true) {
    config.exists ??= true;
    build.exists ??= true;
  }
  const isThere = ({ exists, ...rest }: Said) => exists ?? Object.keys(rest).length > 0;
  return {
    ...(isThere(config) ? { config: configOf(config) } : {}),
    ...(isThere(build) ? { build: buildOf(build, ownConfig) } : {}),
  };
}

interface Entry {
  readonly key: string;
  readonly value: unknown;
}

function note(said: Said, what: 'config' | 'build', { key, value }: Entry): void {
  if (typeof value === 'boolean') return noteTruth(said, key, value);
  const facet = facetOf(key.replace(/^(mos[bc]|(machineos)?(build|config)|os)/i, ''), what);
  if (isJsonObject(value)) {
    if (facet !== 'whole') throw new Error(`${key}: an object where a text was expected`);
    said.exists = true;
    for (const [inner, given] of Object.entries(value)) {
      note(said, what, { key: inner, value: given });
    }
  } else if (Array.isArray(value)) said.state = trueOf(key, value);
  else noteText(said, { facet, key, text: textOf(key, value) });
}

type Facet = 'whole' | 'name' | 'image' | 'of' | 'state';

function facetOf(rest: string, what: 'config' | 'build'): Facet {
  if (rest === '') return 'whole';
  if (/name$/i.test(rest) && !/config|image/i.test(rest)) return 'name';
  if (/im(g|age)|digest|pullspec|pushspec/i.test(rest)) return 'image';
  if (/state|status|phase|condition|progress/i.test(rest)) return 'state';
  if (what === 'build' && /config|mc(name)?$|^for$|^of$/i.test(rest)) return 'of';
  throw new Error(`unknown part ${rest} of a ${what === 'build' ? 'MOSB' : 'MOSC'}`);
}

function noteText(
  said: Said,
  { facet, key, text }: { readonly facet: Facet; readonly key: string; readonly text: string },
): void {
  if (facet === 'state') said.state = stateNamed(key, text);
  else if (facet !== 'whole') {
    if (text !== '') said[facet] = text;
  } else if (text === '') said.exists = false;
  else said.bare = text;
}

/** `MOSB: true` = the build exists; `BuildFailed: true` = its state. */
function noteTruth(said: Said, key: string, isTrue: boolean): void {
  if (isState(key.replace(/^(mosb|is)/i, ''))) {
    if (isTrue) said.state = stateNamed(key, key);
  } else said.exists = isTrue;
}

const STATES: readonly (readonly [RegExp, string])[] = [
  [/succ/i, 'Succeeded'],
  [/fail/i, 'Failed'],
  [/interr/i, 'Interrupted'],
  [/prepar|pending/i, 'Prepared'],
  [/building|running|inprogress/i, 'Building'],
  [/^$|init|none/i, ''],
];

function isState(text: string): boolean {
  return text !== '' && !text.includes('-') && STATES.some(([word]) => word.test(text));
}

function stateNamed(key: string, text: string): string {
  const found = STATES.find(([word]) => word.test(text));
  if (found === undefined) throw new Error(`${key}: unknown state ${text} of a build`);
  return found[1];
}

/** The condition with status True in a list; a text in the list is such a condition. */
function trueOf(key: string, conditions: readonly unknown[]): string {
  const names = conditions.flatMap((one) => {
    if (typeof one === 'string') return [one];
    if (!isJsonObject(one)) throw new Error(`${key}: neither a condition nor its name`);
    const status = one['Status'] ?? one['status'];
    return status === 'True' || status === true ? [String(one['Type'] ?? one['type'])] : [];
  });
  return names.length === 0 ? '' : stateNamed(key, names.join(' '));
}

function configOf({ bare, name, image = bare }: Said): MachineOSConfig {
  const known = image === bare ? undefined : bare;
  return {
    metadata: { name: name ?? known ?? DEFAULT_NAMES.config },
    ...(image === undefined ? {} : { status: { currentImagePullSpec: image } }),
  };
}

function buildOf(said: Said, ownConfig = ''): MachineOSBuild {
  const { bare, name, image, of = bare ?? ownConfig, state = '' } = said;
  const known = of === bare ? undefined : bare;
  return {
    metadata: { name: name ?? known ?? DEFAULT_NAMES.build },
    spec: { machineConfig: { name: of } },
    status: {
      ...(image === undefined ? {} : { digestedImagePushSpec: image }),
      conditions:
        state === '' ? [] : [{ type: state, status: 'True', reason: state, message: state }],
    },
  };
}

function textOf(key: string, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') throw new Error(`${key} is not a text`);
  return value;
}

function truthOf(key: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new Error(`${key} is neither true nor false`);
  return value;
}
