//! The command line of the crate ostree-ext, for builders of images: `container encapsulate` turns
//! an ostree commit into an OCI image. Hosts do not need it.

#[tokio::main(flavor = "multi_thread")]
async fn main() -> anyhow::Result<()> {
    slipway_ostree::ostree_ext::cli::run_from_iter(std::env::args_os()).await
}
