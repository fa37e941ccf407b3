/**
 * Asks a registry with skopeo, which every machine with rpm-ostree or bootc has, and with the
 * machine's credentials for OS images.
 */

import { fail } from '../../../core/errors';
import { failed, lastJson, type RunCommand } from './command';
import type { InspectImage } from './image-checks';
import { type JsonFields, readFields } from './json-fields';
import { type Layer, layersIn, pulledLayers } from './pulled-layers';
import { registryCredentials } from './registry-credentials';

interface SkopeoParts {
  readonly run: RunCommand;
  readonly root: string;
}

/** Since then skopeo verifies signatures for programs that pull through it. */
const VERIFIES_SINCE = [1, 14] as const;
const TIMEOUT_MS = 2 * 60_000;

type Ask = (reference: string, ...flags: readonly string[]) => Promise<JsonFields>;

export function createSkopeoInspector({ run, root }: SkopeoParts): InspectImage {
  return async (image, signed, { signal }) => {
    if (signed) await requireVerification(run);
    const ask = askSkopeo({ run, image, authFile: await registryCredentials(root), signal });
    const found = await ask(image, '--no-tags');
    const layers = await layersOf(ask, image, found);
    const labels = found.optionalObject('Labels');
    const present = await pulledLayers(root);
    const missing = layers.filter(({ digest }) => !present.has(digest));
    return {
      architecture: found.text('Architecture'),
      missingBytes: missing.reduce((sum, { bytes }) => sum + bytes, 0),
      bootable: ['ostree.bootable', 'containers.bootc'].some(
        (label) => labels?.optionalText(label) !== undefined,
      ),
    };
  };
}

interface Asking {
  readonly run: RunCommand;
  /** For messages. */
  readonly image: string;
  /** Undefined = anonymously. */
  readonly authFile: string | undefined;
  readonly signal: AbortSignal;
}

/** @returns a function that throws `PullFailed` */
export function askSkopeo({ run, image, authFile, signal }: Asking): Ask {
  const credentials = authFile === undefined ? ['--no-creds'] : ['--authfile', authFile];
  return async (reference, ...flags) => {
    const words = ['inspect', ...flags, ...credentials, `docker://${reference}`];
    const end = await run('skopeo', words, { signal, timeoutMs: TIMEOUT_MS });
    if (end.status !== 0) {
      throw fail('PullFailed', `image ${image}: ${failed('skopeo', words, end).message}`);
    }
    const whole = { ...end, lines: [end.lines.join('')] };
    return readFields('skopeo inspect', lastJson('skopeo', words, whole));
  };
}

/** @param found - what `skopeo inspect` says of the image */
export async function layersOf(
  ask: Ask,
  image: string,
  found: JsonFields,
): Promise<readonly Layer[]> {
  return (
    found.optionalObjects('LayersData')?.map((layer) => ({
      digest: layer.text('Digest'),
      bytes: layer.count('Size'),
    })) ?? (await layersOfManifest(ask, image, found.text('Architecture')))
  );
}

/** For skopeo before 1.10. */
async function layersOfManifest(
  ask: Ask,
  image: string,
  architecture: string,
): Promise<readonly Layer[]> {
  const manifest = await ask(image, '--raw');
  // Skopeo has answered for this machine's platform.
  const ours = manifest.optionalObjects('manifests')?.find((entry) => {
    const platform = entry.optionalObject('platform');
    return platform?.text('architecture') === architecture && platform.text('os') === 'linux';
  });
  if (ours !== undefined) {
    const name = image.slice(0, image.lastIndexOf('@'));
    return layersOfManifest(ask, `${name}@${ours.text('digest')}`, architecture);
  }
  return layersIn(manifest);
}

async function requireVerification(run: RunCommand): Promise<void> {
  const end = await run('skopeo', ['--version']);
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(end.lines.join(' ')) ?? [];
  const isNew =
    Number(major) > VERIFIES_SINCE[0] ||
    (Number(major) === VERIFIES_SINCE[0] && Number(minor) >= VERIFIES_SINCE[1]);
  if (isNew) return;
  throw fail(
    'ImageRefused',
    `the signature policy of this host asks for a signature, and its skopeo ${major}.${minor} does not ` +
      `verify any when an OS image is pulled; install skopeo ${VERIFIES_SINCE.join('.')} or newer`,
  );
}
