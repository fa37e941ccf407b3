use serde::Serialize;

/// The progress of a pull, without layers that were present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Compressed, as the registry sends them.
    pub bytes: u64,
    pub total_bytes: u64,
    pub layers: u64,
    pub total_layers: u64,
}
