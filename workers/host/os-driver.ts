import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { createNoneDriver, type OsDriver, type OsDriverName } from '../../adapters/host';
import { checkBootRoom } from '../../adapters/host/os/boot-room';
import { createBootcDriver } from '../../adapters/host/os/bootc';
import { runCommand } from '../../adapters/host/os/command';
import { createImageGate } from '../../adapters/host/os/image-checks';
import { createOstreeDriver, OSTREE_PROGRAM } from '../../adapters/host/os/ostree';
import { createProgramRunner } from '../../adapters/host/os/program';
import { createRpmOstreeDriver } from '../../adapters/host/os/rpm-ostree';
import { createSkopeoInspector } from '../../adapters/host/os/skopeo-inspect';

export const DRIVER_SETTINGS = ['auto', 'rpm-ostree', 'bootc', 'ostree', 'none'] as const;
export type DriverSetting = (typeof DRIVER_SETTINGS)[number];

export interface ChosenDriver {
  readonly name: Exclude<OsDriverName, 'simulated'>;
  readonly why: string;
  /** Absent: in the PATH. */
  readonly program?: string;
}

/** In order of preference. */
const PROGRAMS = [
  ['rpm-ostree', 'rpm-ostree'],
  ['bootc', 'bootc'],
  ['slipway-ostree', 'ostree'],
] as const;

/** The directory of slipway-ostree when it is not in the PATH. */
const OF_THE_PACKAGE = dirname(OSTREE_PROGRAM);

/** Exists early in the boot of an ostree system. */
const OSTREE_BOOTED = 'run/ostree-booted';

/**
 * `auto` takes the first of rpm-ostree, bootc and slipway-ostree on a machine that ostree booted.
 * An unfinished update keeps its driver: its image may bring another program.
 *
 * @param begunWith - the driver of the unfinished update; absent: none
 * @throws an Error that names what is missing, when an ostree machine has none of them
 */
export function chooseDriver(
  setting: DriverSetting,
  root: string,
  path = process.env['PATH'] ?? '',
  begunWith?: OsDriverName,
): ChosenDriver {
  const places = [path, OF_THE_PACKAGE].join(delimiter);
  if (setting !== 'auto') {
    const program = setting === 'ostree' ? findProgram('slipway-ostree', places) : undefined;
    const why = 'the setting driver names it';
    return { name: setting, why, ...(program === undefined ? {} : { program }) };
  }
  if (begunWith !== undefined && begunWith !== 'simulated') return keptDriver(begunWith, places);
  if (!existsSync(join(root, OSTREE_BOOTED))) {
    return { name: 'none', why: `no /${OSTREE_BOOTED}: the system is not image-based` };
  }
  for (const [program, name] of PROGRAMS) {
    const found = findProgram(program, places);
    if (found !== undefined) {
      return { name, why: `booted by ostree, and ${found} is there`, program: found };
    }
  }
  const names = PROGRAMS.map(([program]) => program).join(', ');
  throw new Error(
    `driver: this machine was booted by ostree, but none of ${names} is in the PATH or in ${OF_THE_PACKAGE}; install one, or set driver to none`,
  );
}

/** Also without its program: a rollback restores at least files and units. */
function keptDriver(name: Exclude<OsDriverName, 'simulated'>, places: string): ChosenDriver {
  const why = 'an unfinished update was begun with it';
  const [program] = PROGRAMS.find(([, driver]) => driver === name) ?? [];
  if (program === undefined) return { name, why };
  const found = findProgram(program, places);
  return found === undefined
    ? { name, why: `${why}, although ${program} is not there any more` }
    : { name, why, program: found };
}

function findProgram(name: string, path: string): string | undefined {
  for (const directory of path.split(delimiter)) {
    if (directory === '') continue;
    const file = join(directory, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // The program is not in this directory.
    }
  }
  return undefined;
}

export function createOsDriver(chosen: ChosenDriver, root: string): OsDriver {
  if (chosen.name === 'none') return createNoneDriver();
  const boot = { root, run: runCommand };
  return {
    ...createImageDriver(chosen, root),
    checkBoot: (needs, context) => checkBootRoom(boot, needs, context),
  };
}

function createImageDriver({ name, program }: ChosenDriver, root: string): OsDriver {
  const architecture = process.arch;
  if (name === 'ostree') {
    return createOstreeDriver({
      root,
      architecture,
      ...(program === undefined ? {} : { program }),
    });
  }
  const images = createImageGate({
    inspect: createSkopeoInspector({ run: runCommand, root }),
    root,
    sysroot: join(root, 'sysroot'),
    architecture,
  });
  const parts = { run: createProgramRunner(), images, root };
  return name === 'bootc'
    ? createBootcDriver(parts)
    : createRpmOstreeDriver({ ...parts, architecture });
}
