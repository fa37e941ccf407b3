import { readJson, type JsonFields } from './json-fields';

const PROGRAM = 'bootc status --json';

/** Each only adds fields; those read here are the same in all. */
const KNOWN_FORMATS = ['v1alpha1', 'v1beta1', 'v1'] as const;

/** It decides what can be done with the deployments. */
type BootcBackend = 'ostree' | 'composefs';

export interface BootcEntry {
  /** `CHECKSUM.SERIAL` with ostree, the verity digest with composefs. */
  readonly id: string;
  readonly backend: BootcBackend;
  /** With its transport unless that is a registry. Absent: changed by hand. */
  readonly image?: string;
  readonly digest?: string;
  readonly pinned: boolean;
  /** Versions before 1.12 do not check the lock. */
  readonly downloadOnly: boolean;
}

export interface BootcStatus {
  readonly booted: BootcEntry;
  readonly staged?: BootcEntry;
  readonly rollback?: BootcEntry;
  readonly rollbackQueued: boolean;
}

/** @throws `OsCommandFailed` naming the field of an unknown format */
export function readBootcStatus(output: string): BootcStatus {
  const host = readJson(PROGRAM, output);
  refuseUnknownFormat(host);
  const status = host.object('status');
  const booted = status.optionalObject('booted');
  if (booted === undefined) {
    throw status.refuse('booted', 'the image that the machine has booted');
  }
  const staged = status.optionalObject('staged');
  const rollback = status.optionalObject('rollback');
  return {
    booted: readEntry(booted),
    ...(staged === undefined ? {} : { staged: readEntry(staged) }),
    ...(rollback === undefined ? {} : { rollback: readEntry(rollback) }),
    rollbackQueued: status.flag('rollbackQueued'),
  };
}

function refuseUnknownFormat(host: JsonFields): void {
  const version = /^org\.containers\.bootc\/(.+)$/.exec(host.text('apiVersion'))?.[1];
  if (!KNOWN_FORMATS.some((known) => known === version)) {
    throw host.refuse('apiVersion', `org.containers.bootc/ with ${KNOWN_FORMATS.join(', ')}`);
  }
}

function readEntry(entry: JsonFields): BootcEntry {
  const image = entry.optionalObject('image');
  return {
    ...identityOf(entry),
    ...(image === undefined ? {} : { image: pullSpecOf(image), digest: image.text('imageDigest') }),
    pinned: entry.flag('pinned'),
    downloadOnly: entry.flag('downloadOnly'),
  };
}

function identityOf(entry: JsonFields): Pick<BootcEntry, 'id' | 'backend'> {
  const ostree = entry.optionalObject('ostree');
  if (ostree !== undefined) {
    const id = `${ostree.text('checksum')}.${ostree.count('deploySerial')}`;
    return { id, backend: 'ostree' };
  }
  const composefs = entry.optionalObject('composefs');
  if (composefs === undefined) throw entry.refuse('ostree', 'a deployment, of ostree or composefs');
  return { id: composefs.text('verity'), backend: 'composefs' };
}

function pullSpecOf(image: JsonFields): string {
  const reference = image.object('image');
  const transport = reference.text('transport');
  const name = reference.text('image');
  return transport === 'registry' ? name : `${transport}:${name}`;
}
