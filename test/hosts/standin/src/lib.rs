//! Code that the stand-ins share: see README.md.

pub mod host;
pub mod layers;
pub mod origin;
pub mod packages;

pub use slipway_ostree as ostree_host;
