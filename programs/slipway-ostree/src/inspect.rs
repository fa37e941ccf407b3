use std::collections::BTreeMap;
use std::process::Command;

use ostree_ext::container::merge_default_container_proxy_opts;
use ostree_ext::containers_image_proxy::ImageProxy;
use ostree_ext::refescape::prefix_escape_for_ref;
use serde::Serialize;

use crate::skopeo::proxy_config;
use crate::{Failure, Host, Image};

/// ostree-ext keeps pulled layers under these refs.
const LAYER_PREFIX: &str = "ostree/container/blob";

/// One layer of an image.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Layer {
    pub digest: String,
    /// Compressed.
    pub bytes: u64,
    /// Pulled already.
    pub present: bool,
}

/// The registry's facts about an image.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageFacts {
    pub image: String,
    /// Of the manifest for this machine.
    pub digest: String,
    /// As OCI names it: `amd64`, `arm64`…
    pub architecture: String,
    pub layers: Vec<Layer>,
    /// Of the layers that are not present.
    pub missing_bytes: u64,
    /// Can be booted by ostree.
    pub bootable: bool,
    pub labels: BTreeMap<String, String>,
}

/// Reads manifest and config of an image, and which layers are present. Pulls nothing. `signed` =
/// the signature policy must accept it, with a skopeo that verifies signatures.
pub async fn inspect(host: &Host, image: &Image, signed: bool) -> Result<ImageFacts, Failure> {
    if signed {
        crate::skopeo::require_verification().await?;
    }
    let (digest, manifest, config) = match fetch(image, Policy::Asked).await {
        Ok(fetched) => fetched,
        Err(error) if signed => return Err(refusal(image, &error).await),
        Err(error) => return Err(Failure::pull(&error)),
    };
    let repo = host.sysroot.repo();
    let layers = manifest
        .layers()
        .iter()
        .map(|layer| {
            let digest = layer.digest().to_string();
            let reference = prefix_escape_for_ref(LAYER_PREFIX, &digest)?;
            let present = repo.resolve_rev(&reference, true)?.is_some();
            Ok(Layer {
                digest,
                bytes: layer.size(),
                present,
            })
        })
        .collect::<Result<Vec<_>, anyhow::Error>>()?;
    let labels: BTreeMap<String, String> = config
        .config()
        .as_ref()
        .and_then(|config| config.labels().clone())
        .unwrap_or_default()
        .into_iter()
        .collect();
    Ok(ImageFacts {
        image: image.to_string(),
        digest,
        architecture: config.architecture().to_string(),
        missing_bytes: layers.iter().filter(|l| !l.present).map(|l| l.bytes).sum(),
        layers,
        bootable: ["ostree.bootable", "containers.bootc"]
            .iter()
            .any(|l| labels.contains_key(*l)),
        labels,
    })
}

type Fetched = (
    String,
    ostree_ext::oci_spec::image::ImageManifest,
    ostree_ext::oci_spec::image::ImageConfiguration,
);

/// Why an image that must be signed was refused. Registry and policy both answer in prose; but if
/// the image is available without the policy before and after, the policy is the cause.
pub(crate) async fn refusal(image: &Image, error: &anyhow::Error) -> Failure {
    if fetch(image, Policy::Ignored).await.is_err() {
        return Failure::pull(error);
    }
    match fetch(image, Policy::Asked).await {
        Ok(_) => Failure::pull(error),
        Err(error) => Failure::refused(format!(
            "the signature policy of this host does not take image {image}: {}",
            Failure::pull(&error)
        )),
    }
}

/// The signature policy of the host, for reading manifest and config.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    Asked,
    /// Nothing that is read may be used.
    Ignored,
}

async fn fetch(image: &Image, policy: Policy) -> Result<Fetched, anyhow::Error> {
    let mut config = proxy_config();
    merge_default_container_proxy_opts(&mut config)?;
    if policy == Policy::Ignored {
        config
            .skopeo_cmd
            .get_or_insert_with(|| Command::new("skopeo"))
            .arg("--insecure-policy");
    }
    let proxy = ImageProxy::new_with_config(config).await?;
    let opened = proxy
        .open_image(&image.reference(false).imgref.to_string())
        .await?;
    let (digest, manifest) = proxy.fetch_manifest(&opened).await?;
    let config = proxy.fetch_config(&opened).await?;
    proxy.close_image(&opened).await?;
    proxy.finalize().await?;
    Ok((digest, manifest, config))
}
