/** Which templates a MachineConfig is made of. */

import { isRecord } from '../is-record';
import { ANNOTATION } from '../names';
import type { TemplateFile, TemplateFinding, TemplatePorts } from './types';

/** A flavour and its layers: `kubeadm: [common, kubeadm]`. */
export const FLAVOURS_FILE = 'flavours.yaml';

export const SUBJECTS = ['base', 'kubelet', 'container-runtime'] as const;
export type Subject = (typeof SUBJECTS)[number];

type Kind = 'files' | 'units';

/** `layer/pool/subject/kind/name` */
const PLACE = /^([^/]+)\/([^/]+)\/(base|kubelet|container-runtime)\/(files|units)\/([^/]+\.yaml)$/;

const PLACE_FIX =
  'move it to <layer>/<pool or common>/<base, kubelet or container-runtime>/<files or units>/<name>.yaml';

/** The layers of a flavour, or what keeps it from being used. */
export function layersOf(
  flavour: string,
  files: readonly TemplateFile[],
  readYaml: TemplatePorts['readYaml'],
): { readonly layers: readonly string[] } | { readonly findings: readonly TemplateFinding[] } {
  const file = files.find(({ path }) => path === FLAVOURS_FILE);
  if (file === undefined) {
    const fix = 'write one line per flavour, such as kubeadm: [common, kubeadm]';
    return { findings: [finding(1, 'is missing', fix)] };
  }
  const { documents, problems } = readYaml(file.text);
  const [problem] = problems;
  if (problem !== undefined)
    return { findings: [finding(problem.line, problem.problem, problem.fix)] };
  const known = documents[0]?.value;
  if (!isRecord(known)) {
    const fix = 'write one line per flavour, such as kubeadm: [common, kubeadm]';
    return { findings: [finding(1, 'holds no flavours', fix)] };
  }
  const layers = Object.hasOwn(known, flavour) ? known[flavour] : undefined;
  if (layers === undefined) return { findings: [unknownFlavour(flavour, Object.keys(known))] };
  if (!isLayers(layers)) {
    const line = documents[0]?.placeOf([flavour]).line ?? 1;
    const fix = 'write a list of folders, the most general first';
    return { findings: [finding(line, `flavour ${flavour} has no list of layers`, fix)] };
  }
  const absent = layers.filter((layer) => !files.some(({ path }) => path.startsWith(`${layer}/`)));
  if (absent.length === 0) return { layers };
  const line = documents[0]?.placeOf([flavour]).line ?? 1;
  const fix = 'correct the name, or put templates into the folder';
  return { findings: absent.map((layer) => finding(line, `there is no folder ${layer}`, fix)) };
}

function isLayers(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
}

function finding(line: number, problem: string, fix: string): TemplateFinding {
  return { template: { file: FLAVOURS_FILE, line }, problem, fix };
}

function unknownFlavour(flavour: string, known: readonly string[]): TemplateFinding {
  return {
    path: ['metadata', 'annotations', ANNOTATION.TEMPLATES],
    problem: `"${flavour}" is no flavour of the templates`,
    fix: `write one of ${known.join(', ')}`,
  };
}

/** Files that look like templates, and that no MachineConfig would ever hold. */
export function misplaced(files: readonly TemplateFile[]): readonly TemplateFinding[] {
  return files
    .filter(({ path }) => path !== FLAVOURS_FILE && /\.ya?ml$/.test(path) && !PLACE.test(path))
    .map(({ path }) => ({
      template: { file: path, line: 1 },
      problem: 'no template is looked for here',
      fix: PLACE_FIX,
    }));
}

export interface Chosen {
  readonly subject: Subject;
  readonly layers: readonly string[];
  /** Folders of pools, the most general first. */
  readonly roles: readonly string[];
}

/**
 * Sorted by name. Of templates of one name the last counts: the later layer, and in a layer the
 * later role. An empty one takes away those before it.
 *
 * @see MCO pkg/controller/template/render.go (7ff337a4), generateMachineConfigForName
 */
export function chosenTemplates(
  files: readonly TemplateFile[],
  { subject, layers, roles }: Chosen,
  kind: Kind,
): readonly TemplateFile[] {
  const chosen = new Map<string, TemplateFile>();
  for (const layer of layers) {
    for (const role of roles) {
      const folder = `${layer}/${role}/${subject}/${kind}/`;
      for (const file of files) {
        if (PLACE.test(file.path) && file.path.startsWith(folder)) {
          chosen.set(file.path.slice(folder.length), file);
        }
      }
    }
  }
  return [...chosen]
    .filter(([, { text }]) => text.trim() !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, file]) => file);
}
