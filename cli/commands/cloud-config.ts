/** `slipway cloud-config`: user data that installs the host worker at the first boot of a stock image. */

import { stringify } from 'yaml';
import { stockCloudConfig } from '../../core/join';
import type { ExitCode } from '../exit-codes';
import { EXIT } from '../exit-codes';
import type { CliContext } from '../ports';
import { readHostSettings } from './host-settings';
import { authorityOf, orderKeysOf, readText, type ReadText, serverUrlOf } from './server-place';

export interface CloudConfigOptions {
  readonly hostSettings: string;
  readonly serverUrl?: string;
  readonly caFile?: string;
  readonly orderKeysFile?: string;
}

/** The cluster is asked only for what is not given. */
export async function printCloudConfig(
  context: CliContext,
  options: CloudConfigOptions,
  read: ReadText = readText,
): Promise<ExitCode> {
  const hostSettings = await readHostSettings(options.hostSettings, read);
  const { serverUrl, caFile, orderKeysFile } = options;
  const isComplete = ![serverUrl, caFile, orderKeysFile].includes(undefined);
  const facts = isComplete ? {} : await (await context.cluster()).serverFacts();
  const config = stockCloudConfig({
    serverUrl: serverUrlOf(serverUrl, facts),
    authority: await authorityOf(caFile, { facts, read, now: context.now() }),
    orderKeys: await orderKeysOf(orderKeysFile, { facts, read }),
    hostSettings,
  });
  const yaml = stringify(config, { lineWidth: 0, blockQuote: 'literal' });
  context.terminal.out.write(`#cloud-config\n${yaml}`);
  return EXIT.OK;
}
