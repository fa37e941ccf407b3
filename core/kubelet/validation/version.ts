/** Of the kubelet whose behaviour this folder has: tools/kubernetes/go.mod has the whole version. */
export const KUBELET_VERSION = { major: 1, minor: 36 } as const;
