import { posix } from 'node:path';
import { enablingLinks, templateOf, UNIT_DIRECTORY, type InstallSection } from '../../core/systemd';
import type { HostFiles } from './files';
import type { PathFacts } from './path-state';

/** systemd takes the first. */
export const UNIT_DIRECTORIES = [
  UNIT_DIRECTORY,
  '/run/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
];
/** portablectl attaches these units, which are enabled as others are. */
const ATTACHED_DIRECTORIES = ['/etc/systemd/system.attached', '/run/systemd/system.attached'];
/** Units of generators and running programs cannot be enabled. */
const GENERATED_DIRECTORIES = [
  '/run/systemd/generator.early',
  '/run/systemd/generator',
  '/run/systemd/generator.late',
  '/run/systemd/transient',
];
const PRESET_DIRECTORIES = UNIT_DIRECTORIES.map((directory) => `${directory}-preset`);

/** A section with only `Also` enables other units. */
export function hasOwnLinks(install: InstallSection): boolean {
  const { wantedBy, requiredBy, upheldBy, alias } = install;
  return [wantedBy, requiredBy, upheldBy, alias].some((list) => list.length > 0);
}

export function enablingPaths(unit: string, install: InstallSection): readonly string[] {
  const { aliases, wants, requires, upholds } = enablingLinks(unit, install);
  return [...wants, ...requires, ...upholds, ...aliases];
}

function isTemplate(unit: string): boolean {
  return unit.includes('@.');
}

/** The owner's file before the distribution's, a template for its instances. */
interface FoundUnit {
  readonly path: string;
  /** Drop-ins may have `[Install]` sections, too. */
  readonly contents: string;
}

export type SeePath = (
  path: string,
) => Promise<{ readonly kind: Exclude<PathFacts['kind'], 'symlink'> } | LinkFacts>;
type LinkFacts = Extract<PathFacts, { kind: 'symlink' }>;

/** A unit, an alias, the template of an instance, or a mask. */
export function hasUnit(see: SeePath, unit: string): Promise<boolean> {
  return isInOneOf([...UNIT_DIRECTORIES, ...ATTACHED_DIRECTORIES], see, unit);
}

/** Generators and programs make such units until the next boot. */
export function isGenerated(see: SeePath, unit: string): Promise<boolean> {
  return isInOneOf(GENERATED_DIRECTORIES, see, unit);
}

async function isInOneOf(
  directories: readonly string[],
  see: SeePath,
  unit: string,
): Promise<boolean> {
  for (const name of namesOf(unit)) {
    for (const directory of directories) {
      const path = posix.join(directory, name);
      const found = await see(path);
      if (found.kind === 'file') return true;
      if (found.kind !== 'symlink') continue;
      const target = posix.resolve(directory, found.target);
      if (target === '/dev/null' || (await see(target)).kind !== 'absent') return true;
    }
  }
  return false;
}

function namesOf(unit: string): readonly string[] {
  const template = templateOf(unit);
  return template === undefined ? [unit] : [unit, template];
}

export async function findUnit(
  files: Pick<HostFiles, 'look' | 'list'>,
  unit: string,
): Promise<FoundUnit | undefined> {
  const names = namesOf(unit);
  for (const name of names) {
    for (const directory of UNIT_DIRECTORIES) {
      const path = posix.join(directory, name);
      const state = await files.look(path);
      if (state.kind === 'symlink' && state.target === '/dev/null') return undefined;
      const at = state.kind === 'symlink' ? linkedFile(path, state.target) : path;
      const file = at === undefined || at === path ? state : await files.look(at);
      if (at === undefined || file.kind !== 'file') continue;
      const parts = [file.content.toString('utf8'), ...(await dropins(files, names))];
      // `[]` ends the section of the part before.
      return { path: at, contents: parts.join('\n[]\n') };
    }
  }
  return undefined;
}

/** Made by `systemctl link`; a link to another name is an alias. */
function linkedFile(link: string, target: string): string | undefined {
  if (posix.basename(link) !== posix.basename(target)) return undefined;
  return posix.resolve(posix.dirname(link), target);
}

/**
 * The link in the owner's directory that stands for the unit: an alias, or a unit kept elsewhere.
 * Undefined when there is none, or it masks the unit. Disabling the unit removes it.
 */
export async function ownLink(
  files: Pick<HostFiles, 'facts'>,
  unit: string,
): Promise<string | undefined> {
  const path = posix.join(UNIT_DIRECTORY, unit);
  const facts = await files.facts(path);
  return facts.kind === 'symlink' && facts.target !== '/dev/null' ? path : undefined;
}

/** Each from the first directory that has it. */
async function dropins(
  files: Pick<HostFiles, 'look' | 'list'>,
  units: readonly string[],
): Promise<readonly string[]> {
  const paths = new Map<string, string>();
  for (const unit of units) {
    for (const directory of UNIT_DIRECTORIES) {
      const dropinDirectory = posix.join(directory, `${unit}.d`);
      for (const name of await files.list(dropinDirectory)) {
        if (name.endsWith('.conf') && !paths.has(name)) {
          paths.set(name, posix.join(dropinDirectory, name));
        }
      }
    }
  }
  const contents: string[] = [];
  for (const [, path] of [...paths].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const state = await files.look(path);
    if (state.kind === 'file') contents.push(state.content.toString('utf8'));
  }
  return contents;
}

function hasDependencies(name: string): boolean {
  return /\.(wants|requires|upholds)$/.test(name);
}

/** Aliases are beside the units. */
export async function linkDirectories(files: Pick<HostFiles, 'list'>): Promise<readonly string[]> {
  const names = (await files.list(UNIT_DIRECTORY)).filter(hasDependencies);
  return [UNIT_DIRECTORY, ...names.map((name) => posix.join(UNIT_DIRECTORY, name))];
}

/**
 * `*.wants`, `*.requires`, `*.upholds` and aliases; for a template, those of all its instances.
 */
export async function presentLinks(
  files: Pick<HostFiles, 'look' | 'list'>,
  unit: string,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await files.list(UNIT_DIRECTORY)) {
    const path = posix.join(UNIT_DIRECTORY, name);
    const isDependency = hasDependencies(name);
    if (isDependency && isTemplate(unit)) {
      const names = await files.list(path);
      found.push(...names.filter((link) => isOf(unit, link)).map((link) => posix.join(path, link)));
      continue;
    }
    const candidate = isDependency ? posix.join(path, unit) : path;
    if (name === unit) continue;
    const state = await files.look(candidate);
    if (
      state.kind === 'symlink' &&
      posix.basename(linkedUnit(candidate, state.target, unit)) === unit
    )
      found.push(candidate);
  }
  return found;
}

function isOf(template: string, link: string): boolean {
  const [start = '', end = ''] = template.split('@.');
  return link.startsWith(`${start}@`) && link.endsWith(`.${end}`);
}

/** In `.wants`, an instance links to its template, so the name of the link counts. */
function linkedUnit(path: string, target: string, unit: string): string {
  return posix.basename(path) === unit ? unit : target;
}

/** True without a matching line, as in systemd. */
export async function presetEnables(
  files: Pick<HostFiles, 'look' | 'list'>,
  unit: string,
): Promise<boolean> {
  const presets = new Map<string, string>();
  for (const directory of PRESET_DIRECTORIES) {
    for (const name of await files.list(directory)) {
      // A name in /etc hides the same name in /usr.
      if (name.endsWith('.preset') && !presets.has(name))
        presets.set(name, posix.join(directory, name));
    }
  }
  for (const [, path] of [...presets].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const state = await files.look(path);
    if (state.kind !== 'file') continue;
    const verdict = presetVerdict(state.content.toString('utf8'), unit);
    if (verdict !== undefined) return verdict;
  }
  return true;
}

function presetVerdict(contents: string, unit: string): boolean | undefined {
  for (const line of contents.split('\n')) {
    const [verb, pattern] = line.trim().split(/\s+/);
    if ((verb !== 'enable' && verb !== 'disable') || pattern === undefined) continue;
    if (posix.matchesGlob(unit, pattern)) return verb === 'enable';
  }
  return undefined;
}
