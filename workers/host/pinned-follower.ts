import {
  askForPinnedImages,
  type ConfigClientOptions,
  createContainerImages,
  runCommand,
} from '../../adapters/host';
import { followPinnedImages } from '../../host/pinned-images/follow-pinned-images';
import type { Logger } from '../../process/logging';

interface PinnedPlace {
  readonly node: string;
  readonly root: string;
  readonly endpoint: ConfigClientOptions;
}

/** Never throws. */
export async function followHostPinnedImages(
  { node, root, endpoint }: PinnedPlace,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<void> {
  const images = createContainerImages({ root, run: runCommand });
  try {
    await followPinnedImages(
      { ...images, node, ask: (report, until) => askForPinnedImages(endpoint, report, until) },
      { signal, log },
    );
  } catch (error) {
    log.error({ node, err: error }, 'pinned images are not followed any more');
  }
}
