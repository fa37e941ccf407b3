import {
  type ConfigClientOptions,
  createBundleClient,
  createPathWatch,
  tryAuthority,
} from '../../adapters/host';
import {
  followBundle,
  type FollowOptions,
  type FollowPorts,
} from '../../host/bundle/follow-bundle';
import type { MachinePorts } from '../../host/ports';
import type { Logger } from '../../process/logging';

interface BundlePlace {
  readonly root: string;
  readonly endpoint: ConfigClientOptions;
  readonly kubeletUnit: FollowPorts['kubeletUnit'];
}

/** Never throws. */
export async function followHostBundle(
  ports: MachinePorts,
  { root, endpoint, kubeletUnit }: BundlePlace,
  options: Omit<FollowOptions, 'log'> & { readonly log: Logger },
): Promise<void> {
  const client = createBundleClient(endpoint);
  const { node } = ports;
  try {
    await followBundle(
      {
        ...ports,
        now: () => new Date(),
        kubeletUnit,
        watch: (on) => createPathWatch({ root, ...on }),
        ask: (report, signal) => client.ask(report, signal),
        tryAuthority: (server, pem) => tryAuthority(server, { ca: pem }),
      },
      options,
    );
  } catch (error) {
    options.log.error(
      { node, err: error },
      'certificates beside the config are not followed any more',
    );
  }
}
