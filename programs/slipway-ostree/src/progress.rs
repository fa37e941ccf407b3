use serde::Serialize;

/// How far a pull is; layers that are here already do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Compressed, as the registry sends them.
    pub bytes: u64,
    pub total_bytes: u64,
    pub layers: u64,
    pub total_layers: u64,
}
