//! The signature policy of the host, as far as ostree-ext needs it to be known.

use serde::Deserialize;

const POLICY: &str = "/etc/containers/policy.json";

#[derive(Deserialize)]
struct Requirement {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Policy {
    default: Vec<Requirement>,
}

/// Whether an image that no scope of the policy names must be signed. ostree-ext takes the signed
/// form of a reference only then; with a scope of its own, skopeo asks all the same.
pub(crate) fn asks_by_default() -> Result<bool, anyhow::Error> {
    let policy: Policy = serde_json::from_slice(&std::fs::read(POLICY)?)?;
    Ok(!policy
        .default
        .iter()
        .all(|requirement| requirement.kind == "insecureAcceptAnything"))
}
