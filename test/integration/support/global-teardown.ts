import './global-setup';

export default async function stopControlPlane(): Promise<void> {
  await globalThis.slipwayControlPlane?.stop();
}
