import { X509Certificate } from 'node:crypto';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of a PEM text, each as a text without what is around it. */
export function certificateBlocks(pem: string): readonly string[] {
  return pem.match(CERTIFICATE) ?? [];
}

/** @throws what OpenSSL says of the first one that cannot be read */
export function readCertificates(pem: string): readonly X509Certificate[] {
  return certificateBlocks(pem).map((block) => new X509Certificate(block));
}

/** One text of several, each certificate once, without those that are over or cannot be read. */
export function validOf(pems: readonly string[], nowMs: number): string {
  const blocks = new Set(pems.flatMap(certificateBlocks));
  return joined([...blocks].filter((block) => isValid(block, nowMs)));
}

function isValid(block: string, nowMs: number): boolean {
  try {
    return endOf(new X509Certificate(block)) > nowMs;
  } catch {
    // Nobody could use it.
    return false;
  }
}

export function joined(blocks: readonly string[]): string {
  return blocks.map((block) => `${block.trim()}\n`).join('');
}

/** Milliseconds since 1970. */
export function endOf({ validTo }: X509Certificate): number {
  return Date.parse(validTo);
}

/** Milliseconds since 1970. */
export function beginOf({ validFrom }: X509Certificate): number {
  return Date.parse(validFrom);
}
