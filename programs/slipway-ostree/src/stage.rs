use ostree_ext::container::deploy::ORIGIN_CONTAINER;
use ostree_ext::gio::Cancellable;
use ostree_ext::{glib, ostree};
use serde::Serialize;

use crate::deployments::{drop_staged, drop_unused};
use crate::host::{arguments_of, describe, Locked};
use crate::{change_arguments, lock, policy, pull, Deployment, Failure, Host, Image, Progress};

/// An image to stage.
#[derive(Clone, Debug)]
pub struct StageRequest {
    pub image: Image,
    /// The signature policy must accept it.
    pub signed: bool,
    /// Keep it from taking over until `finalize`.
    pub lock: bool,
    /// Default: those of the previous deployment.
    pub kernel_arguments: Option<Vec<String>>,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Staged {
    /// False = it was so before.
    pub changed: bool,
    /// False = deployed at once, because this sysroot is not booted, or nothing to stage.
    pub staged: bool,
    pub deployment: Deployment,
    /// Pulled for it.
    pub pulled: Progress,
}

/// Pulls an image and stages it, unless it is staged, or booted with nothing else staged.
pub async fn stage(
    host: &Host,
    request: &StageRequest,
    report: &mut dyn FnMut(Progress),
) -> Result<Staged, Failure> {
    if let Some(present) = present(host, request).await? {
        return Ok(present);
    }
    let (state, pulled) = pull(host, &request.image, request.signed, report).await?;
    let locked = host.lock().await?;
    let origin = glib::KeyFile::new();
    let reference = request
        .image
        .reference(request.signed && policy::asks_by_default()?);
    origin.set_string("origin", ORIGIN_CONTAINER, &reference.to_string());
    let base = merge_deployment(host).map(|deployment| arguments_of(&deployment));
    let arguments = request
        .kernel_arguments
        .clone()
        .or(base)
        .unwrap_or_default();
    let staged = write(
        &locked,
        host,
        &StageCommit {
            checksum: state.merge_commit.clone(),
            origin,
            kernel_arguments: arguments,
            lock: request.lock,
        },
        pulled,
    )?;
    drop_unused(&locked)?;
    Ok(staged)
}

/// The answer when the image is present; drops another staged image when the booted one is wanted.
async fn present(host: &Host, request: &StageRequest) -> Result<Option<Staged>, Failure> {
    let locked = host.lock().await?;
    let wanted = |deployment: &Deployment| {
        deployment.digest.as_deref() == Some(request.image.digest())
            && request
                .kernel_arguments
                .as_ref()
                .map_or(true, |arguments| *arguments == deployment.kernel_arguments)
    };
    if let Some(staged) = host.sysroot.staged_deployment() {
        let staged = describe(host, &staged)?;
        if wanted(&staged) {
            set_lock(host, request.lock)?;
            return Ok(Some(Staged::unchanged(staged)));
        }
    }
    let Some(base) = merge_deployment(host) else {
        return Ok(None);
    };
    let base = describe(host, &base)?;
    if !wanted(&base) {
        return Ok(None);
    }
    drop_staged(&locked, host)?;
    Ok(Some(Staged::unchanged(base)))
}

impl Staged {
    fn unchanged(deployment: Deployment) -> Self {
        Self {
            changed: false,
            staged: deployment.staged,
            deployment,
            pulled: Progress::default(),
        }
    }
}

/// The arguments that a change starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentBase {
    /// Those in force: repeating the change gives the same result.
    Booted,
    /// Those of the staged deployment, if there is one: changes add up.
    Newest,
}

/// A change of kernel arguments, each one a single argument.
#[derive(Clone, Debug)]
pub struct KernelArgumentRequest {
    /// Each is deleted once, if present.
    pub delete_if_present: Vec<String>,
    /// Appended after that, in order.
    pub append: Vec<String>,
    pub base: ArgumentBase,
    pub lock: bool,
}

/// Changes the arguments of the staged deployment; without one, stages the booted commit anew.
pub async fn set_kernel_arguments(
    host: &Host,
    request: &KernelArgumentRequest,
) -> Result<Staged, Failure> {
    let locked = host.lock().await?;
    let booted = merge_deployment(host)
        .ok_or_else(|| Failure::other("there is no deployment to change the arguments of"))?;
    let target = host
        .sysroot
        .staged_deployment()
        .unwrap_or_else(|| booted.clone());
    let current = arguments_of(&target);
    let base = match request.base {
        ArgumentBase::Booted => arguments_of(&booted),
        ArgumentBase::Newest => current.clone(),
    };
    let wanted = change_arguments(&base, &request.delete_if_present, &request.append);
    if wanted == current {
        if target.is_staged() {
            set_lock(host, request.lock)?;
        }
        return Ok(Staged::unchanged(describe(host, &target)?));
    }
    let origin = target.origin().unwrap_or_default();
    ostree::Deployment::origin_remove_transient_state(&origin);
    let commit = StageCommit {
        checksum: target.csum().to_string(),
        origin,
        kernel_arguments: wanted,
        lock: request.lock,
    };
    write(&locked, host, &commit, Progress::default())
}

/// A commit that is in the repository.
#[derive(Debug)]
pub struct StageCommit {
    pub checksum: String,
    pub origin: glib::KeyFile,
    pub kernel_arguments: Vec<String>,
    pub lock: bool,
}

/// Stages a commit of the repository, instead of the staged deployment.
pub async fn stage_commit(host: &Host, commit: &StageCommit) -> Result<Staged, Failure> {
    let locked = host.lock().await?;
    write(&locked, host, commit, Progress::default())
}

fn write(
    locked: &Locked<'_>,
    host: &Host,
    commit: &StageCommit,
    pulled: Progress,
) -> Result<Staged, Failure> {
    let arguments: Vec<&str> = commit.kernel_arguments.iter().map(String::as_str).collect();
    let options = ostree::SysrootDeployTreeOpts {
        override_kernel_argv: Some(&arguments),
        ..Default::default()
    };
    let merge = merge_deployment(host);
    let made = if host.is_booted() {
        stage_booted(host, commit, merge.as_ref(), &options)
    } else {
        deploy_at_once(host, commit, merge.as_ref(), &options)
    };
    let made = made?;
    locked.0.sysroot.load_if_changed(Cancellable::NONE)?;
    let id = crate::host::id_of(&made);
    let deployment = host
        .find(&id)
        .ok_or_else(|| Failure::other(format!("deployment {id} is gone after it was made")))?;
    let deployment = describe(host, &deployment)?;
    Ok(Staged {
        changed: true,
        staged: deployment.staged,
        deployment,
        pulled,
    })
}

/// The lock comes first, so that a power cut at no moment lets it take over.
fn stage_booted(
    host: &Host,
    commit: &StageCommit,
    merge: Option<&ostree::Deployment>,
    options: &ostree::SysrootDeployTreeOpts<'_>,
) -> Result<ostree::Deployment, Failure> {
    set_lock(host, commit.lock)?;
    let staged = host.sysroot.stage_tree_with_options(
        Some(&host.stateroot()),
        &commit.checksum,
        Some(&commit.origin),
        merge,
        options,
        Cancellable::NONE,
    );
    if staged.is_err() && host.sysroot.staged_deployment().is_none() {
        // A lock without a staged deployment would hold the next one back.
        lock::unlock(host)?;
    }
    let staged = staged?;
    // From 2023.8, libostree drops the file when it stages over another deployment.
    set_lock(host, commit.lock)?;
    Ok(staged)
}

fn deploy_at_once(
    host: &Host,
    commit: &StageCommit,
    merge: Option<&ostree::Deployment>,
    options: &ostree::SysrootDeployTreeOpts<'_>,
) -> Result<ostree::Deployment, Failure> {
    let stateroot = host.stateroot();
    let made = host.sysroot.deploy_tree_with_options(
        Some(&stateroot),
        &commit.checksum,
        Some(&commit.origin),
        merge,
        Some(options),
        Cancellable::NONE,
    )?;
    host.sysroot.simple_write_deployment(
        Some(&stateroot),
        &made,
        merge,
        ostree::SysrootSimpleWriteDeploymentFlags::NONE,
        Cancellable::NONE,
    )?;
    host.sysroot.cleanup(Cancellable::NONE)?;
    Ok(made)
}

fn set_lock(host: &Host, wanted: bool) -> Result<(), Failure> {
    if wanted {
        lock::lock(host)
    } else {
        lock::unlock(host)
    }
}

/// The deployment whose /etc is inherited: the booted one, or the newest of the stateroot.
fn merge_deployment(host: &Host) -> Option<ostree::Deployment> {
    host.sysroot.merge_deployment(Some(&host.stateroot()))
}
