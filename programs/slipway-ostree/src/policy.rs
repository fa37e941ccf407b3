//! The part of the host's signature policy that ostree-ext needs.

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

/// Whether an image that no scope of the policy names must be signed. ostree-ext accepts the signed
/// form of a reference only then; skopeo applies scopes in any case.
pub(crate) fn asks_by_default() -> Result<bool, anyhow::Error> {
    let policy: Policy = serde_json::from_slice(&std::fs::read(POLICY)?)?;
    Ok(!policy
        .default
        .iter()
        .all(|requirement| requirement.kind == "insecureAcceptAnything"))
}
