/** What a driver asks about an image before and after it gives it to another program. */

import { fail, failureName, messageOf } from '../../../core/errors';
import type { StepContext } from './os-status';

export interface ImageGate {
  /**
   * @throws `ImageRefused` when the image can never be taken here; `PullFailed` when the registry does
   *   not answer
   */
  check(image: string, context: StepContext): Promise<void>;
  /**
   * Whether a program on ostree-ext is to be asked for the image as one that must be signed. Where the
   * default of the policy accepts anything it refuses to be, whatever the scope of the image wants; skopeo,
   * through which it pulls, asks for that signature all the same.
   */
  usesSignedForm(image: string): Promise<boolean>;
}

/**
 * Pulls by a program that says for people only why it failed. Whether it was the registry, the registry
 * itself tells: without an answer it was, with one the pull goes on where it stopped, once.
 *
 * @throws `PullFailed` or `ImageRefused` with both messages; else what the program failed with
 */
export async function pullWith(
  images: ImageGate,
  image: string,
  context: StepContext,
  pull: () => Promise<void>,
): Promise<void> {
  try {
    await pull();
  } catch (error) {
    if (failureName(error) !== 'OsCommandFailed') throw error;
    await images.check(image, context).catch((cause: unknown) => {
      const name = failureName(cause);
      const message = `${messageOf(error)}; ${messageOf(cause)}`;
      throw name === undefined ? cause : Object.assign(fail(name, message), { cause });
    });
    await pull();
  }
}
