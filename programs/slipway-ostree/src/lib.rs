//! Stages OCI images on an ostree host: the library that rpm-ostree and bootc are built on, with the
//! few operations that a machine update needs, and typed answers that serialize to JSON.
//!
//! Open a [`Host`], then:
//!
//! - [`status`]: deployments with image, digest and kernel arguments
//! - [`inspect`]: what an image is and how much of it is not here yet, before a layer is pulled
//! - [`stage`]: pull an image and stage it, locked or not
//! - [`set_kernel_arguments`]: on the staged deployment, or staged anew from the booted one
//! - [`finalize`], [`discard`]: release or drop what is staged
//! - [`roll_back`], [`clean_up`], [`prune`]: choose and drop deployments
//!
//! Images are compared by the digest of their manifest. The checksum of a deployment differs between
//! hosts that run the same image.
//!
//! On a sysroot that is not the booted one (`Host::open` on a directory) nothing can be staged: a
//! deployment is made at once and the answer says `staged: false`.

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
