import type { TLSSocket } from 'node:tls';
import type { PeerSubject } from './ports';

type Peer = Pick<TLSSocket, 'authorized' | 'getPeerCertificate'>;

/** Of the verified client certificate; undefined = there is none. */
export function subjectOf(socket: Partial<Peer>): PeerSubject | undefined {
  if (socket.authorized !== true || socket.getPeerCertificate === undefined) return undefined;
  const { subject } = socket.getPeerCertificate();
  if (subject === undefined) return undefined;
  return { commonNames: listOf(subject.CN), organizations: listOf(subject.O) };
}

/** Node returns an array for a repeated attribute, contrary to its types. */
function listOf(value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((entry) => typeof entry === 'string');
}
