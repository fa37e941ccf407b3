import { hostname } from 'node:os';
import { z } from 'zod';
import { isServerName } from '../core/certificates';
import {
  BooleanSetting,
  KubeFileSettings,
  ProcessSettings,
  readSettings,
  SettingsError,
  TemporalSettings,
  type Environment,
  type Fragment,
} from '../process/settings';

const seconds = z.coerce.number().positive();

/** With commas. */
const names = z
  .string()
  .transform((given) => given.split(',').map((name) => name.trim().toLowerCase()))
  .pipe(
    z.array(
      z.string().refine(isServerName, {
        error: ({ input }) => `${JSON.stringify(input)} is neither a DNS name nor an address`,
      }),
    ),
  );

export const ControllerSettings = z.object({
  ...TemporalSettings.shape,
  ...KubeFileSettings.shape,
  ...ProcessSettings.shape,
  namespace: z.string().min(1).default('slipway'),
  /** Directory; absent = payloads are readable in Temporal. Their Secret is made here. */
  payloadKeys: z.string().min(1).optional(),
  leaseName: z.string().min(1).default('slipway-controllers'),
  /** Absent = host name, process id and a random part. */
  identity: z.string().min(1).optional(),
  /** A leader that has not renewed for this long may be replaced. */
  leaseSeconds: seconds.default(15),
  /** A leader that could not renew for this long stops. */
  renewDeadlineSeconds: seconds.default(10),
  leaseRetrySeconds: seconds.default(2),
  keepRendered: z.coerce.number().int().min(0).default(5),
  maxKubeRequests: z.coerce.number().int().positive().default(32),
  /** DNS names and addresses by which machines call the server: its certificate is for them. */
  serverNames: names.default([]),
  /** False: another program keeps the certificate of the server. */
  issueCertificates: BooleanSetting.default(true),
  /** Namespace of a Temporal whose certificates are issued here; absent = none are. */
  temporalCertificates: z.string().min(1).optional(),
  /** Absent = those that come with Slipway. */
  templatesDir: z.string().min(1).optional(),
  /** For a migration under supervision. */
  allowMco: BooleanSetting.default(false),
});
export type ControllerSettings = Readonly<z.infer<typeof ControllerSettings>>;

/**
 * Flags precede the environment.
 *
 * @throws SettingsError naming every invalid setting
 */
export function controllerSettings(flags: Fragment, environment: Environment): ControllerSettings {
  const settings = readSettings(ControllerSettings, flags, environment);
  if (settings.renewDeadlineSeconds >= settings.leaseSeconds) {
    throw new SettingsError([
      'renewDeadlineSeconds: must be less than leaseSeconds, so that a leader stops before another takes over',
    ]);
  }
  return settings;
}

export function identityOf(settings: ControllerSettings, random: string): string {
  return settings.identity ?? `${hostname()}_${process.pid}_${random}`;
}
