import { sourceOf } from '../binaries/catalogue';
import { ensureOwnProgram } from '../binaries/own-program';

/** The kubelet's own checks of a KubeletConfiguration, as a program (*.go). Throws as `ensureOwnProgram`. */
export function ensureKubeletValidation(): Promise<string> {
  // Of the same Kubernetes, so that Go shares what it has compiled for the kubelet.
  const { goVariables } = sourceOf('kubelet');
  return ensureOwnProgram({ folder: 'kubelet-validation', goVariables, buildMinutes: 3 });
}
