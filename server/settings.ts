import { z } from 'zod';
import { LOG_LEVELS } from '../process/logging';
import { TemporalSettings } from '../process/settings';
import { registryAuthorityProblem } from './ignition/facts';
import { JOIN_MODES } from './join-gate';
import { networkProblem } from './join-networks';

const port = z.coerce.number().int().min(0).max(65_535);
const count = z.coerce.number().int().positive();

/** An array of flags, or a text with commas. */
const several = z
  .union([z.string(), z.array(z.string())])
  .transform((given) =>
    (typeof given === 'string' ? given.split(',') : given).map((entry) => entry.trim()),
  )
  .pipe(z.array(z.string().min(1)));

const network = z.string().superRefine((entry, context) => {
  const problem = networkProblem(entry);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});

const registryAuthority = z.string().superRefine((entry, context) => {
  const problem = registryAuthorityProblem(entry);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});

const origin = z.url({ protocol: /^https?$/ }).refine((text) => new URL(text).origin === text, {
  error: 'expected scheme and host, such as https://temporal.example.com, without a path',
});

/** Port 0 = any free one. */
export const ServerSettings = z
  .object({
    ...TemporalSettings.shape,
    /** Absent = hosts have no gateway to Temporal. */
    temporalAddress: z.string().min(1).optional(),
    /** Directory; absent = hosts have no gateway to Temporal. */
    payloadKeys: z.string().min(1).optional(),
    /** Absent = the pod's service account. */
    kubeconfig: z.string().min(1).optional(),
    address: z.string().min(1).default('0.0.0.0'),
    hostPort: port.default(22_624),
    gatewayPort: port.default(22_625),
    codecPort: port.default(22_626),
    /** Of the Temporal UI; absent = it has no codec. */
    codecOrigin: origin.optional(),
    ignitionPort: port.default(22_623),
    plainAddress: z.string().min(1).default('0.0.0.0'),
    plainPort: port.default(8_080),
    certificateFile: z.string().min(1),
    keyFile: z.string().min(1),
    /** Required for the host endpoint. */
    clientAuthorityFile: z.string().min(1).optional(),
    /** Told to hosts; may be missing. */
    authorityFile: z.string().min(1).optional(),
    maxConfigBytes: count.default(64 * 1024 * 1024),
    /** Serves first configs of these files, and nothing of a cluster. */
    bootstrapDir: z.string().min(1).optional(),
    /** For machines with a stock image; default: the archives of this build. */
    hostWorkerDirectory: z.string().min(1).optional(),
    joinMode: z.enum(JOIN_MODES).default('tokens'),
    allowNetwork: several.pipe(z.array(network)).default([]),
    bootstrapKubeconfig: z.string().min(1).optional(),
    bootstrapTokenDirectory: z.string().min(1).optional(),
    apiServerUrl: z.url({ protocol: /^https$/ }).optional(),
    registryAuthority: several.pipe(z.array(registryAuthority)).default([]),
    maxFirstConfigBytes: count.default(16 * 1024 * 1024),
    maxConnections: count.default(4_096),
    maxConnectionsPerAddress: count.default(2_560),
    maxGatewayConnections: count.default(16_384),
    logLevel: z.enum(LOG_LEVELS).default('info'),
  })
  .refine(
    ({ bootstrapDir, clientAuthorityFile }) => (bootstrapDir ?? clientAuthorityFile) !== undefined,
    {
      path: ['clientAuthorityFile'],
      error: 'is missing; only with bootstrapDir there is no host endpoint',
    },
  )
  .refine(
    ({ codecOrigin, payloadKeys }) => codecOrigin === undefined || payloadKeys !== undefined,
    {
      path: ['payloadKeys'],
      error: 'is missing; the codec for the Temporal UI reads with them',
    },
  )
  .refine(
    ({ apiServerUrl, bootstrapTokenDirectory }) =>
      (apiServerUrl === undefined) === (bootstrapTokenDirectory === undefined),
    { path: ['apiServerUrl'], error: 'goes together with bootstrapTokenDirectory' },
  );
export type ServerSettings = z.infer<typeof ServerSettings>;

/** Settings with a default may be missing. */
export type ServerOptions = z.input<typeof ServerSettings>;

/** @throws an Error that lists every problem by field */
export function readServerSettings(options: unknown): ServerSettings {
  const parsed = ServerSettings.safeParse(options);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || 'settings'}: ${issue.message}`,
  );
  throw new Error(`the server cannot start:\n  ${problems.join('\n  ')}`);
}
