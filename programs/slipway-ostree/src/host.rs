use std::path::{Path, PathBuf};
use std::time::Duration;

use ostree_ext::container::deploy::ORIGIN_CONTAINER;
use ostree_ext::container::store::manifest_digest_from_commit;
use ostree_ext::container::{version_for_config, OstreeImageReference, SignatureSource, Transport};
use ostree_ext::gio::{Cancellable, File};
use ostree_ext::keyfileext::KeyFileExt;
use ostree_ext::ostree;
use ostree_ext::sysroot::SysrootLock;
use rustix::process::getuid;
use rustix::thread::{unshare, UnshareFlags};
use serde::Serialize;

use crate::image::digest_of;
use crate::kernel_arguments::{split_arguments, without_ostree};
use crate::{is_locked, Failure};

/// The paths of the operating system.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// `/` = the running system.
    pub sysroot: PathBuf,
    /// Group of deployments that share /var; default: that of the booted or newest deployment.
    pub stateroot: Option<String>,
    /// Has `ostree/staged-deployment-locked`.
    pub run: PathBuf,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            sysroot: "/".into(),
            stateroot: None,
            run: "/run".into(),
        }
    }
}

/// An opened sysroot.
#[derive(Debug)]
pub struct Host {
    pub(crate) sysroot: ostree::Sysroot,
    pub(crate) options: HostOptions,
}

/// Made early in the boot of an ostree system.
const BOOTED: &str = "/run/ostree-booted";
/// How long another program, such as a person's `ostree admin`, may hold the sysroot.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);
const LOCK_PAUSE: Duration = Duration::from_millis(200);

impl Host {
    /// Opens a sysroot. On the running system the process gets its own mount namespace, where
    /// /sysroot and /boot may become writable; call it before any other thread exists.
    pub fn open(options: HostOptions) -> Result<Self, Failure> {
        let sysroot = ostree::Sysroot::new(Some(&File::for_path(&options.sysroot)));
        if is_running_system(&options) {
            // A service without this permission may have both mounted writable; if not, libostree
            // fails when it writes.
            if unshare(UnshareFlags::NEWNS).is_ok() {
                sysroot.set_mount_namespace_in_use();
            }
        }
        sysroot.load(Cancellable::NONE)?;
        Ok(Self { sysroot, options })
    }

    /// For functions that this library lacks.
    pub fn sysroot(&self) -> &ostree::Sysroot {
        &self.sysroot
    }

    /// Whether deployments can be staged: only on the running system.
    pub fn is_booted(&self) -> bool {
        self.sysroot.booted_deployment().is_some()
    }

    /// The stateroot to deploy into.
    pub fn stateroot(&self) -> String {
        let newest = || self.sysroot.deployments().into_iter().next();
        self.options
            .stateroot
            .clone()
            .or_else(|| {
                self.sysroot
                    .booted_deployment()
                    .map(|d| d.osname().to_string())
            })
            .or_else(|| newest().map(|d| d.osname().to_string()))
            .unwrap_or_else(|| "default".to_owned())
    }

    /// Takes ostree's lock for changes, and reads changes of other programs.
    pub(crate) async fn lock(&self) -> Result<Locked<'_>, Failure> {
        let begun = std::time::Instant::now();
        while !self.sysroot.try_lock()? {
            if begun.elapsed() > LOCK_PATIENCE {
                return Err(Failure::other(
                    "another program holds the lock of the sysroot (ostree/lock)",
                ));
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        let locked = Locked(SysrootLock::from_assumed_locked(&self.sysroot), self);
        self.sysroot.load_if_changed(Cancellable::NONE)?;
        Ok(locked)
    }

    /// The deployment of this ID.
    pub(crate) fn find(&self, id: &str) -> Option<ostree::Deployment> {
        self.sysroot
            .deployments()
            .into_iter()
            .find(|deployment| id_of(deployment) == id)
    }
}

/// Whether /sysroot and /boot are those of the running machine, usually mounted read-only.
fn is_running_system(options: &HostOptions) -> bool {
    options.sysroot == Path::new("/") && getuid().is_root() && Path::new(BOOTED).exists()
}

/// Holds the lock of the sysroot until it goes out of scope.
pub(crate) struct Locked<'host>(pub(crate) SysrootLock, &'host Host);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.1.sysroot.unlock();
    }
}

/// One OS tree on disk.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// `<checksum>.<serial>`.
    pub id: String,
    pub stateroot: String,
    /// Of the ostree commit; differs between hosts of the same image.
    pub checksum: String,
    /// `host/name@sha256:…`; absent when it does not come from an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The image in the origin, such as `ostree-unverified-registry:…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Whether the signature policy of the host was applied.
    pub signed: bool,
    /// The digest in the reference, else of the pulled image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Without `ostree=`, which libostree writes.
    pub kernel_arguments: Vec<String>,
    pub booted: bool,
    pub staged: bool,
    pub pinned: bool,
}

/// The deployments of a host, newest first.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub booted: Option<Deployment>,
    /// Takes over at the next boot unless `locked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged: Option<Deployment>,
    /// The deployment after the booted one in the boot menu.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Deployment>,
    /// The staged deployment does not take over at the next boot.
    pub locked: bool,
    pub deployments: Vec<Deployment>,
}

/// Reads the deployments.
pub fn status(host: &Host) -> Result<Status, Failure> {
    host.sysroot.load_if_changed(Cancellable::NONE)?;
    let deployments = host
        .sysroot
        .deployments()
        .iter()
        .map(|deployment| describe(host, deployment))
        .collect::<Result<Vec<_>, _>>()?;
    let booted = deployments.iter().position(|deployment| deployment.booted);
    let rollback = booted.and_then(|at| {
        let stateroot = &deployments[at].stateroot;
        let later = &deployments[at + 1..];
        later
            .iter()
            .find(|deployment| deployment.stateroot == *stateroot)
            .cloned()
    });
    Ok(Status {
        booted: booted.map(|at| deployments[at].clone()),
        staged: deployments
            .iter()
            .find(|deployment| deployment.staged)
            .cloned(),
        rollback,
        locked: is_locked(host),
        deployments,
    })
}

pub(crate) fn id_of(deployment: &ostree::Deployment) -> String {
    format!("{}.{}", deployment.csum(), deployment.deployserial())
}

pub(crate) fn describe(
    host: &Host,
    deployment: &ostree::Deployment,
) -> Result<Deployment, Failure> {
    let reference = image_reference(deployment)?;
    let image = reference.as_ref().map(image_name);
    let (commit, _) = host.sysroot.repo().load_commit(&deployment.csum())?;
    // The reference may name a list of manifests; the commit has the chosen one.
    let named = image.as_deref().and_then(digest_of).map(str::to_owned);
    let pulled = manifest_digest_from_commit(&commit)
        .ok()
        .map(|digest| digest.to_string());
    let booted = host.sysroot.booted_deployment();
    Ok(Deployment {
        id: id_of(deployment),
        stateroot: deployment.osname().to_string(),
        checksum: deployment.csum().to_string(),
        signed: reference
            .as_ref()
            .is_some_and(|r| r.sigverify == SignatureSource::ContainerPolicy),
        reference: reference.map(|reference| reference.to_string()),
        image,
        digest: named.or(pulled),
        version: version_of(&commit),
        kernel_arguments: arguments_of(deployment),
        booted: booted.is_some_and(|booted| booted.equal(deployment)),
        staged: deployment.is_staged(),
        pinned: deployment.is_pinned(),
    })
}

/// The arguments in the boot entry of a deployment, without `ostree=`.
pub(crate) fn arguments_of(deployment: &ostree::Deployment) -> Vec<String> {
    let options = deployment
        .bootconfig()
        .and_then(|entry| entry.get("options"));
    without_ostree(split_arguments(options.as_deref().unwrap_or_default()))
}

fn image_reference(
    deployment: &ostree::Deployment,
) -> Result<Option<OstreeImageReference>, Failure> {
    let Some(origin) = deployment.origin() else {
        return Ok(None);
    };
    let text = origin.optional_string("origin", ORIGIN_CONTAINER)?;
    text.map(|text| OstreeImageReference::try_from(text.as_str()).map_err(Failure::from))
        .transpose()
}

fn image_name(reference: &OstreeImageReference) -> String {
    match reference.imgref.transport {
        Transport::Registry => reference.imgref.name.clone(),
        _ => reference.imgref.to_string(),
    }
}

/// From the commit, else from the label of its image.
fn version_of(commit: &ostree_ext::glib::Variant) -> Option<String> {
    let metadata = ostree_ext::glib::VariantDict::new(Some(&commit.child_value(0)));
    let text = |key: &str| metadata.lookup::<String>(key).ok().flatten();
    text("version").or_else(|| {
        let config = serde_json::from_str(&text("ostree.container.image-config")?).ok()?;
        version_for_config(&config).map(str::to_owned)
    })
}
