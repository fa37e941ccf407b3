/** The MachineConfigs of the demo, in the order in which they are applied. */

/** Reboots every worker: a systemd unit of our own, and a drop-in for one that the OS brings. */
export const FIRST_SAMPLE = 'demo/manifests/unit-with-dropin.yaml';

/** A file; arrives while the first still rolls, and the rollout retargets. */
export const SECOND_SAMPLE = 'demo/manifests/file.yaml';
