/** Reboots every worker. */
export const FIRST_SAMPLE = 'demo/manifests/unit-with-dropin.yaml';

/** Applied during the first rollout, which then retargets. */
export const SECOND_SAMPLE = 'demo/manifests/file.yaml';
