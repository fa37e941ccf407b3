use ostree_ext::container::deploy;
use ostree_ext::gio::Cancellable;
use ostree_ext::ostree;
use serde::Serialize;

use crate::host::{id_of, Locked};
use crate::{lock, Failure, Host};

/// Data that was dropped with images that no deployment needs.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Prune {
    pub images: u32,
    pub layers: u32,
    pub objects: u32,
    pub bytes: u64,
}

/// Drops the staged deployment and its lock; false = there was none. Its layers stay until the next
/// image is staged or `prune` is called, so that staging it again pulls nothing.
pub async fn discard(host: &Host) -> Result<bool, Failure> {
    let locked = host.lock().await?;
    drop_staged(&locked, host)
}

pub(crate) fn drop_staged(locked: &Locked<'_>, host: &Host) -> Result<bool, Failure> {
    let there = host.sysroot.staged_deployment().is_some();
    if there {
        write_without(locked, |deployment| deployment.is_staged())?;
    }
    lock::unlock(host)?;
    Ok(there)
}

/// Makes a deployment the default of the next boot and drops a staged one. False = it was.
pub async fn roll_back(host: &Host, id: &str) -> Result<bool, Failure> {
    let locked = host.lock().await?;
    let target = host
        .find(id)
        .filter(|deployment| !deployment.is_staged())
        .ok_or_else(|| Failure::other(unknown(host, id)))?;
    let mut order: Vec<_> = finished(host);
    let is_first = order.first().is_some_and(|first| first.equal(&target));
    if is_first && host.sysroot.staged_deployment().is_none() {
        return Ok(false);
    }
    order.retain(|deployment| !deployment.equal(&target));
    order.insert(0, target);
    write(&locked, &order)?;
    lock::unlock(host)?;
    Ok(true)
}

/// The result of `clean_up`.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CleanUp {
    pub dropped: bool,
    /// Pinned in ostree, so it is still there.
    pub pinned: bool,
    pub pruned: Prune,
}

/// Drops a deployment that is not booted, and what only it needs, if it exists.
pub async fn clean_up(host: &Host, id: &str) -> Result<CleanUp, Failure> {
    let locked = host.lock().await?;
    let target = host.find(id);
    let booted = host.sysroot.booted_deployment();
    let pinned = target.as_ref().is_some_and(|target| target.is_pinned());
    if let (Some(target), Some(booted)) = (&target, &booted) {
        if target.equal(booted) {
            return Err(Failure::other(format!(
                "deployment {id} is booted, so it stays"
            )));
        }
    }
    if let (Some(target), false) = (&target, pinned) {
        if target.is_staged() {
            drop_staged(&locked, host)?;
        } else {
            write_without(&locked, |deployment| deployment.equal(target))?;
        }
    }
    Ok(CleanUp {
        dropped: target.is_some() && !pinned,
        pinned,
        pruned: drop_unused(&locked)?,
    })
}

/// Drops images, layers and objects that no deployment needs.
pub async fn prune(host: &Host) -> Result<Prune, Failure> {
    let locked = host.lock().await?;
    drop_unused(&locked)
}

pub(crate) fn drop_unused(locked: &Locked<'_>) -> Result<Prune, Failure> {
    let pruned = deploy::prune(&locked.0)?;
    Ok(Prune {
        images: pruned.n_images,
        layers: pruned.n_layers,
        objects: pruned.n_objects_pruned,
        bytes: pruned.objsize,
    })
}

fn finished(host: &Host) -> Vec<ostree::Deployment> {
    let mut all = host.sysroot.deployments();
    all.retain(|deployment| !deployment.is_staged());
    all
}

fn write_without(
    locked: &Locked<'_>,
    drops: impl Fn(&ostree::Deployment) -> bool,
) -> Result<(), Failure> {
    let mut kept = locked.0.sysroot.deployments();
    kept.retain(|deployment| !drops(deployment));
    write(locked, &kept)
}

fn write(locked: &Locked<'_>, order: &[ostree::Deployment]) -> Result<(), Failure> {
    let sysroot = &locked.0.sysroot;
    sysroot.write_deployments(order, Cancellable::NONE)?;
    sysroot.cleanup(Cancellable::NONE)?;
    sysroot.load_if_changed(Cancellable::NONE)?;
    Ok(())
}

fn unknown(host: &Host, id: &str) -> String {
    let known: Vec<String> = finished(host).iter().map(id_of).collect();
    format!(
        "there is no deployment {id} to boot; there are: {}",
        known.join(", ")
    )
}
