import { failureName } from '../../../core/errors';
import type { RunCommand } from '../os/command';
import { askSkopeo, layersOf } from '../os/skopeo-inspect';

/**
 * Of the layers, as skopeo reads them from the registry. Undefined = it is not installed, or does
 * not reach the image; the container runtime may, with settings of its own.
 */
export async function compressedBytes(
  image: string,
  run: RunCommand,
  authFile: string | undefined,
  signal: AbortSignal,
): Promise<number | undefined> {
  const ask = askSkopeo({ run, image, authFile, signal });
  try {
    const layers = await layersOf(ask, image, await ask(image, '--no-tags'));
    return layers.reduce((sum, { bytes }) => sum + bytes, 0);
  } catch (error) {
    if (signal.aborted || failureName(error) === undefined) throw error;
    return undefined;
  }
}
