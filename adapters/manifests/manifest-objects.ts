import type { ManifestFile } from './manifest-files';
import type { ManifestProblem } from './manifest-problem';
import { otherDocument, otherFiles } from './other-documents';
import { readYaml, type Place, type YamlDocument } from './yaml-documents';
import type { Step } from './yaml-places';

export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
  readonly file: string;
  /** Or of the nearest existing parent. */
  placeOf(path: readonly Step[]): Place;
}

interface ManifestObjects {
  /** In the order of the files; lists are split. */
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly ManifestProblem[];
}

/**
 * A faulty object is a problem, not an exception; other documents have no name, and their
 * description as kind.
 */
export function readManifestObjects(files: readonly ManifestFile[]): ManifestObjects {
  const objects: ManifestObject[] = [];
  const problems: ManifestProblem[] = [];
  const others = otherFiles(files);
  for (const { path, text } of files) {
    const other = others.get(path);
    if (other !== undefined) {
      objects.push(withoutName(path, other));
      continue;
    }
    const read = readYaml(text);
    problems.push(...read.problems.map((problem) => ({ file: path, ...problem })));
    for (const document of read.documents) {
      collect({ file: path, document, base: [], value: document.value }, objects, problems);
    }
  }
  return { objects, problems };
}

interface Found {
  readonly file: string;
  readonly document: YamlDocument;
  readonly base: readonly Step[];
  readonly value: unknown;
}

function collect(found: Found, objects: ManifestObject[], problems: ManifestProblem[]): void {
  const { file, document, base, value } = found;
  const placeOf = (path: readonly Step[]): Place => document.placeOf([...base, ...path]);
  const refuse = (path: readonly Step[], problem: string, fix: string): void => {
    problems.push({ file, ...placeOf(path), problem, fix });
  };
  const isObject =
    isRecord(value) && typeof value['kind'] === 'string' && typeof value['apiVersion'] === 'string';
  const other = isObject || base.length > 0 ? undefined : otherDocument(file, value);
  if (other !== undefined) {
    objects.push(withoutName(file, other));
    return;
  }
  if (!isRecord(value)) {
    refuse([], 'not a Kubernetes object', 'write an object with apiVersion, kind and metadata');
    return;
  }
  const { apiVersion, kind, metadata, items } = value;
  if (typeof kind !== 'string' || typeof apiVersion !== 'string') {
    refuse([], 'apiVersion or kind is missing', 'add both, as texts');
    return;
  }
  if (kind.endsWith('List') && (Array.isArray(items) || items === null)) {
    items?.forEach((item: unknown, i) => {
      const inherited = isRecord(item) ? { ...kindOfItems(value), ...item } : item;
      collect({ file, document, base: [...base, 'items', i], value: inherited }, objects, problems);
    });
    return;
  }
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  objects.push({
    apiVersion,
    kind,
    name: typeof name === 'string' ? name : '',
    value,
    file,
    placeOf,
  });
}

/** For a document that is only counted. */
function withoutName(file: string, kind: string): ManifestObject {
  return {
    apiVersion: '',
    kind,
    name: '',
    value: {},
    file,
    placeOf: () => ({ line: 1, column: 1 }),
  };
}

/** Items of `MachineConfigList` may lack their kind. */
function kindOfItems(list: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { apiVersion, kind } = list;
  return kind === 'List' ? {} : { apiVersion, kind: String(kind).slice(0, -'List'.length) };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
