/** Compares the booted system of a simulated machine with a rendered config. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RenderedConfig } from './rendered-config';

interface Deployment {
  readonly image: string;
  readonly kernelArguments: readonly string[];
  readonly extensions: readonly string[];
  readonly kernelType: string;
}

interface SimulatedMachine {
  readonly booted: Deployment;
  /** The next boot drops it while it is locked. */
  readonly staged?: Deployment & { readonly locked?: boolean };
  /** Started by the next boot instead, or retried. */
  readonly next?: Deployment;
  readonly pending?: Deployment;
}

/** Also empty for a machine that is not simulated; its own tests check that. */
export async function bootDifferences(
  root: string,
  { spec }: RenderedConfig,
): Promise<readonly string[]> {
  const file = join(root, 'var/lib/slipway/simulated-os.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return [];
  const { booted, staged, next, pending } = JSON.parse(text) as SimulatedMachine;
  const following = next ?? (staged?.locked === true ? undefined : staged) ?? pending;
  return [
    ...unlike('image', booted.image, spec.osImageURL ?? ''),
    ...unlike('kernel arguments', words(booted.kernelArguments), words(spec.kernelArguments)),
    ...unlike('extensions', words(booted.extensions), words(spec.extensions)),
    ...unlike('kernel', booted.kernelType, spec.kernelType || 'default'),
    ...(following === undefined ? [] : [`the next boot is into ${following.image}`]),
  ];
}

function words(list: readonly string[] = []): string {
  return list
    .flatMap((item) => item.split(/\s+/))
    .sort()
    .join(' ');
}

function unlike(what: string, now: string, wanted: string): readonly string[] {
  return now === wanted ? [] : [`the machine has booted ${what} "${now}", not "${wanted}"`];
}
