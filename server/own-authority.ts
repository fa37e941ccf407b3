import { readFileSync } from 'node:fs';
import { messageOf } from '../core/errors';
import { followFiles, type FollowLog } from './follow-files';

/**
 * The authorities by which hosts recognise the server, as PEM: beside the certificate, in the same
 * Secret.
 *
 * @returns the current text; undefined = there is no file
 */
export function followAuthority(
  file: string | undefined,
  options: { readonly signal: AbortSignal; readonly log: FollowLog },
): () => string | undefined {
  if (file === undefined) return () => undefined;
  const { log } = options;
  const read = (): string | undefined => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        log.warn({ file, reason: messageOf(error) }, 'hosts are not told the authorities');
      }
      return undefined;
    }
  };
  let text = read();
  const reload = (): void => {
    text = read();
  };
  followFiles([file], reload, options);
  return () => text;
}
