//! Stages OCI images on an ostree host, with the library of rpm-ostree and bootc. Has the operations
//! of a machine update; its answers serialize to JSON.
//!
//! Open a [`Host`], then:
//!
//! - [`status`]: deployments with image, digest and kernel arguments
//! - [`inspect`]: an image, and how much of it is not present, before a layer is pulled
//! - [`stage`]: pull an image and stage it, locked or not
//! - [`set_kernel_arguments`]: on the staged deployment, or staged anew from the booted one
//! - [`finalize`], [`discard`]: release or drop the staged deployment
//! - [`roll_back`], [`clean_up`], [`prune`]: choose and drop deployments
//!
//! Images are compared by the digest of their manifest, because the checksum of a deployment
//! differs between hosts.
//!
//! On a sysroot that is not booted (`Host::open` on a directory) nothing can be staged: a
//! deployment is made at once and the answer has `staged: false`.

mod deployments;
mod failure;
mod host;
mod image;
mod inspect;
mod kernel_arguments;
mod lock;
mod policy;
mod progress;
mod pull;
mod skopeo;
mod stage;

pub use deployments::{clean_up, discard, prune, roll_back, CleanUp, Prune};
pub use failure::{Failure, FailureName};
pub use host::{status, Deployment, Host, HostOptions, Status};
pub use image::{digest_of, same_image, Image};
pub use inspect::{inspect, ImageFacts, Layer};
pub use kernel_arguments::{change_arguments, split_arguments};
pub use lock::{finalize, is_locked};
pub use progress::Progress;
pub use pull::pull;
pub use stage::{
    set_kernel_arguments, stage, stage_commit, ArgumentBase, KernelArgumentRequest, StageCommit,
    StageRequest, Staged,
};

// For programs on top of this library, so that versions cannot differ.
pub use ostree_ext;
