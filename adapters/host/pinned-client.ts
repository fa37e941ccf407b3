import { fail, messageOf } from '../../core/errors';
import { imageProblem } from '../../core/machine-config/admission-images';
import {
  MOST_IMAGES,
  type PinnedImages,
  type PinnedReport,
  sealedImages,
} from '../../core/pinned-images';
import { textAt, textsAt } from '../../core/values-at';
import { askEndpoint, type EndpointOptions, messageIn } from './endpoint-request';

/**
 * Tells which pinned images are on the machine.
 *
 * @returns those to have; undefined = the ones that the report names, or the server gives none
 * @throws `ConfigFetchFailed` when the server is unreachable, not ready, or gives no images by digest
 */
export async function askForPinnedImages(
  options: EndpointOptions,
  report: PinnedReport,
  signal: AbortSignal,
): Promise<PinnedImages | undefined> {
  const { host } = new URL(options.url);
  const what = `ask ${host} for pinned images`;
  const asked = { signal, put: report };
  const answer = await askEndpoint('/host/pinned-images', options, asked).catch(
    (error: unknown) => {
      if (signal.aborted) throw error;
      throw fail('ConfigFetchFailed', `${what}: ${messageOf(error)}`);
    },
  );
  // An earlier server has none.
  if (answer.status === 204 || answer.status === 404) return undefined;
  if (answer.status === 200) return readPinned(answer.body, what);
  const text = `${what}: ${answer.status} ${messageIn(answer.body)}`.trim();
  const { retryAfter } = answer;
  throw fail('ConfigFetchFailed', text, retryAfter === undefined ? undefined : { retryAfter });
}

/** A host pulls nothing that is not named by digest. */
function readPinned(body: Buffer, what: string): PinnedImages {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    parsed = undefined;
  }
  const images = textsAt(parsed, 'images').map(([image]) => image);
  const isWrong =
    images.length > MOST_IMAGES || images.some((image) => imageProblem(image) !== undefined);
  const pinned = sealedImages(textAt(parsed, 'pool') ?? '', images);
  if (!isWrong && pinned.digest === textAt(parsed, 'digest')) return pinned;
  throw fail('ConfigFetchFailed', `${what}: the answer is no list of images; nothing is pulled`);
}
