/** Settings of the server process: from flags and environment to values that are right. */

import { z } from 'zod';
import { LOG_LEVELS } from '../workers/logging';

const port = z.coerce.number().int().min(0).max(65_535);

/** Where the server listens, and with what. Port 0 = any free one. */
export const ServerSettings = z.object({
  /** Path of a kubeconfig; absent = the pod's service account. */
  kubeconfig: z.string().min(1).optional(),
  address: z.string().min(1).default('0.0.0.0'),
  hostPort: port.default(22_624),
  plainAddress: z.string().min(1).default('0.0.0.0'),
  plainPort: port.default(8_080),
  certificateFile: z.string().min(1),
  keyFile: z.string().min(1),
  clientAuthorityFile: z.string().min(1),
  maxConfigBytes: z.coerce
    .number()
    .int()
    .positive()
    .default(64 * 1024 * 1024),
  logLevel: z.enum(LOG_LEVELS).default('info'),
});
export type ServerSettings = z.infer<typeof ServerSettings>;

/** Settings as a person gives them: everything with a default may be missing. */
export type ServerOptions = z.input<typeof ServerSettings>;

/**
 * Checks settings and fills the defaults.
 *
 * @throws an Error that lists every problem by field
 */
export function readServerSettings(options: unknown): ServerSettings {
  const parsed = ServerSettings.safeParse(options);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || 'settings'}: ${issue.message}`,
  );
  throw new Error(`the server cannot start:\n  ${problems.join('\n  ')}`);
}
