/** `slipway cloud-config`: user data that installs the host worker at the first boot of a stock image. */

import { stringify } from 'yaml';
import { stockCloudConfig } from '../../core/join';
import type { ExitCode } from '../exit-codes';
import { EXIT } from '../exit-codes';
import type { CliContext } from '../ports';
import { readHostSettings } from './host-settings';
import { authorityOf, readText, type ReadText, serverUrlOf } from './server-place';

export interface CloudConfigOptions {
  readonly hostSettings: string;
  readonly serverUrl?: string;
  readonly caFile?: string;
}

/** The cluster is asked only for a missing authority or address. */
export async function printCloudConfig(
  context: CliContext,
  options: CloudConfigOptions,
  read: ReadText = readText,
): Promise<ExitCode> {
  const hostSettings = await readHostSettings(options.hostSettings, read);
  const isComplete = options.serverUrl !== undefined && options.caFile !== undefined;
  const facts = isComplete ? {} : await (await context.cluster()).serverFacts();
  const config = stockCloudConfig({
    serverUrl: serverUrlOf(options.serverUrl, facts),
    authority: await authorityOf(options.caFile, { facts, read, now: context.now() }),
    hostSettings,
  });
  const yaml = stringify(config, { lineWidth: 0, blockQuote: 'literal' });
  context.terminal.out.write(`#cloud-config\n${yaml}`);
  return EXIT.OK;
}
