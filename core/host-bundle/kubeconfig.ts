/** The authorities in the kubeconfig of a kubelet. Only the text of that one value changes. */

import { joined, certificateBlocks } from '../certificates/pem';

const INLINE =
  /^([ \t]*(?:- )?"?certificate-authority-data"?:[ \t]*)("?)([A-Za-z0-9+/=]+)("?,?[ \t]*)$/gm;
const SERVER = /^[ \t]*(?:- )?"?server"?:[ \t]*["']?(https:\/\/[^\s"']+)["']?,?[ \t]*$/gm;

interface KubeconfigCluster {
  /** `https://host:port` */
  readonly server: string;
  /** PEM. */
  readonly authority: string;
}

/** Undefined = it has no authority inside, or more than one cluster. */
export function clusterIn(kubeconfig: string): KubeconfigCluster | undefined {
  const [data, anotherData] = [...kubeconfig.matchAll(INLINE)];
  const [server, anotherServer] = [...kubeconfig.matchAll(SERVER)];
  if (data === undefined || anotherData !== undefined) return undefined;
  if (server === undefined || anotherServer !== undefined) return undefined;
  const authority = Buffer.from(data[3] ?? '', 'base64').toString('utf8');
  return { server: server[1] ?? '', authority };
}

/** @param kubeconfig - one with a cluster, by `clusterIn` */
export function withAuthority(kubeconfig: string, pem: string): string {
  const data = Buffer.from(pem).toString('base64');
  return kubeconfig.replace(
    INLINE,
    (_line, before: string, open: string, _old: string, after: string) =>
      `${before}${open}${data}${after}`,
  );
}

/** The same certificates, whatever is around them. */
export function sameAuthorities(a: string, b: string): boolean {
  return joined(certificateBlocks(a)) === joined(certificateBlocks(b));
}
