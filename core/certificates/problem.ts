/** What a person must mend; nothing is changed meanwhile. */
export interface CertificateProblem {
  /** `secret slipway/slipway-server-ca` */
  readonly object: string;
  /** `tls.key` */
  readonly field: string;
  readonly says: string;
  /** A command. */
  readonly mend: string;
}

export function problemText({ object, field, says, mend }: CertificateProblem): string {
  return `${object}: ${field} ${says}; ${mend}`;
}
