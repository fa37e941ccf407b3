/** Compares the links that start units at boot with the units of a rendered config. */

import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type IgnitionUnit, type RenderedConfig, UNITS } from './rendered-config';

interface Link {
  readonly path: string;
  readonly unit: string;
}

/** Units that are wrongly enabled or disabled. Units that are left to presets are not judged. */
export async function enablementDifferences(
  root: string,
  config: RenderedConfig,
  others: readonly RenderedConfig[],
): Promise<readonly string[]> {
  const links = await linksBelow(root);
  const units = unitsOf(config);
  const mine = new Set(units.map(({ name }) => name));
  const found: string[] = [];
  for (const unit of units) found.push(...(await compare(root, links, unit, units)));
  const theirs = new Set(others.flatMap(unitsOf).map(({ name }) => name));
  for (const name of theirs) {
    // The presets of its image decide whether such a unit is enabled.
    if (mine.has(name) || (await vendorsOf(root, name)) !== undefined) continue;
    for (const { path } of linksOf(links, name)) {
      found.push(`${path} enables ${name}, which only other configs have`);
    }
  }
  return found;
}

function unitsOf({ spec }: RenderedConfig): readonly IgnitionUnit[] {
  return spec.config.systemd?.units ?? [];
}

async function compare(
  root: string,
  links: readonly Link[],
  unit: IgnitionUnit,
  all: readonly IgnitionUnit[],
): Promise<readonly string[]> {
  if (unit.enabled === undefined || unit.mask === true) return [];
  const contents = unit.contents || (await vendorsOf(root, unit.name));
  // The image lacks the unit: there is nothing to enable.
  if (contents === undefined) return [];
  const present = linksOf(links, unit.name).map(({ path }) => path);
  const wanted = unit.enabled ? wantedLinks(unit.name, contents) : [];
  const isBrought = all.some(
    (other) =>
      other.enabled === true && installed(other.contents ?? '', 'Also').includes(unit.name),
  );
  return [
    ...wanted
      .filter((path) => !present.includes(path))
      .map((path) => `${unit.name} is not enabled: ${path} is missing`),
    ...present
      .filter((path) => !wanted.includes(path) && !isBrought)
      .map((path) => `${path} enables ${unit.name}, which the config does not`),
  ];
}

function wantedLinks(unit: string, contents: string): readonly string[] {
  const below = (key: string, kind: string) =>
    installed(contents, key).map((target) => `${UNITS}/${target}.${kind}/${unit}`);
  return [
    ...below('WantedBy', 'wants'),
    ...below('RequiredBy', 'requires'),
    ...below('UpheldBy', 'upholds'),
    ...installed(contents, 'Alias').map((alias) => `${UNITS}/${alias}`),
  ];
}

/** Values of a setting of the `[Install]` section, over all its lines. */
function installed(contents: string, key: string): readonly string[] {
  const sections = contents.split(/^(?=\[)/m);
  const section = sections.find((part) => part.startsWith('[Install]')) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith(`${key}=`));
  return lines.flatMap((line) => line.slice(key.length + 1).split(/\s+/)).filter(Boolean);
}

async function vendorsOf(root: string, unit: string): Promise<string | undefined> {
  return readFile(join(root, 'usr/lib/systemd/system', unit), 'utf8').catch(() => undefined);
}

function linksOf(links: readonly Link[], unit: string): readonly Link[] {
  return links.filter((link) => link.unit === unit);
}

/** Links below `.wants`, `.requires` and `.upholds`, and aliases of units, without masks. */
async function linksBelow(root: string): Promise<readonly Link[]> {
  const found: Link[] = [];
  for (const name of await readdir(join(root, UNITS)).catch(() => [])) {
    const path = `${UNITS}/${name}`;
    const status = await lstat(join(root, path));
    if (status.isDirectory() && /\.(wants|requires|upholds)$/.test(name)) {
      for (const unit of await readdir(join(root, path))) {
        found.push({ path: `${path}/${unit}`, unit });
      }
    }
    const target = status.isSymbolicLink() ? await readlink(join(root, path)) : '/dev/null';
    if (target !== '/dev/null') found.push({ path, unit: basename(target) });
  }
  return found;
}
