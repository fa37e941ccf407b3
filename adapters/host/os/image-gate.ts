import { fail, failureName, messageOf } from '../../../core/errors';
import type { StepContext } from './os-status';

export interface ImageGate {
  /**
   * @throws `ImageRefused` when this host can never use the image; `PullFailed` when the registry
   *   does not answer
   */
  check(image: string, context: StepContext): Promise<void>;
  /**
   * ostree-ext refuses the signed form when the default of the policy accepts anything; skopeo, its
   * puller, verifies the signature all the same.
   */
  usesSignedForm(image: string): Promise<boolean>;
}

/**
 * The program reports failures only as text, so the registry is asked whether it is the cause: if
 * it answers, the pull is resumed once.
 *
 * @throws `PullFailed` or `ImageRefused` with both messages; else the error of the program
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
