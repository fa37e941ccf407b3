import { fail } from '../../../core/errors';
import type { Deployment, OsStatus } from './os-status';
import type { ImageFacts } from './image-checks';
import { type JsonFields, readFields } from './json-fields';

/** @throws `OsCommandFailed` when this machine did not boot from ostree */
export function readOstreeStatus(answer: unknown, bootId: string): OsStatus {
  const status = readFields('slipway-ostree status', answer);
  const booted = status.optionalObject('booted');
  const staged = status.optionalObject('staged');
  const rollback = status.optionalObject('rollback');
  const locked = status.flag('locked');
  if (booted === undefined) {
    throw fail(
      'OsCommandFailed',
      'this machine did not boot from ostree (/run/ostree-booted): choose another OS driver',
    );
  }
  const running = deploymentOf(booted);
  const pending = pendingIn(status);
  return {
    bootId,
    booted: running,
    ...(staged === undefined ? {} : { staged: { ...deploymentOf(staged), locked } }),
    ...(rollback === undefined ? {} : { rollback: deploymentOf(rollback) }),
    ...(pending === undefined ? {} : { pending: deploymentOf(pending) }),
  };
}

/** A change starts from these: of the booted deployment, or of the newest. */
export function readBaseArguments(answer: unknown): readonly string[] {
  const status = readFields('slipway-ostree status', answer);
  const base = status.optionalObject('booted') ?? status.objects('deployments')[0];
  return base?.texts('kernelArguments') ?? [];
}

/** The first of the boot menu, unless it is staged or booted. */
function pendingIn(status: JsonFields): JsonFields | undefined {
  const all = status.objects('deployments');
  const booted = all.findIndex((deployment) => deployment.flag('booted'));
  return all.slice(0, Math.max(booted, 0)).find((deployment) => !deployment.flag('staged'));
}

export function readImageFacts(answer: unknown): ImageFacts {
  const facts = readFields('slipway-ostree inspect', answer);
  return {
    architecture: facts.text('architecture'),
    missingBytes: facts.count('missingBytes'),
    bootable: facts.flag('bootable'),
  };
}

function deploymentOf(fields: JsonFields): Deployment {
  const image = fields.optionalText('image');
  const digest = fields.optionalText('digest');
  return {
    id: fields.text('id'),
    ...(image === undefined ? {} : { image }),
    ...(digest === undefined ? {} : { digest }),
    kernelArguments: fields.texts('kernelArguments'),
    // The image has all packages.
    extensions: [],
    kernelType: 'default',
  };
}
