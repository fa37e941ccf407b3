//! Stand-in for `rpm-ostree`: see README.md.

use std::path::PathBuf;

use anyhow::{bail, ensure, Context, Result};
use clap::{Args, Parser, Subcommand};
use serde_json::{json, Value};
use slipway_ostree::{
    ArgumentBase, Deployment, Host, Image, KernelArgumentRequest, StageCommit, Status,
};
use slipway_standin::host::{deployment, finish, newest, open, root};
use slipway_standin::origin::{self, Wishes};
use slipway_standin::{layers, ostree_host};

#[derive(Parser)]
#[command(name = "rpm-ostree")]
struct CommandLine {
    #[arg(long, global = true)]
    sysroot: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Status {
        #[arg(long)]
        json: bool,
    },
    Rebase {
        #[command(flatten)]
        lock: Lock,
        #[arg(long)]
        experimental: bool,
        reference: String,
    },
    Kargs {
        #[command(flatten)]
        lock: Lock,
        #[arg(long, allow_hyphen_values = true)]
        delete_if_present: Vec<String>,
        #[arg(long, allow_hyphen_values = true)]
        append: Vec<String>,
        #[arg(long)]
        deploy_index: Option<usize>,
    },
    #[command(alias = "upgrade")]
    Update {
        #[command(flatten)]
        change: Change,
    },
    Install {
        #[command(flatten)]
        change: Change,
        #[arg(required = true)]
        packages: Vec<String>,
    },
    Uninstall {
        #[command(flatten)]
        change: Change,
        #[arg(required = true)]
        packages: Vec<String>,
    },
    #[command(subcommand)]
    Override(Override),
    Cleanup {
        #[arg(long, short)]
        pending: bool,
        #[arg(long, short)]
        rollback: bool,
        #[arg(long, short)]
        base: bool,
    },
    Rollback,
    FinalizeDeployment {
        #[arg(long)]
        allow_missing_checksum: bool,
        #[arg(long)]
        allow_unlocked: bool,
        checksum: Option<String>,
    },
}

#[derive(Subcommand)]
enum Override {
    Remove {
        #[command(flatten)]
        change: Change,
        #[arg(required = true)]
        packages: Vec<String>,
    },
    Reset {
        #[command(flatten)]
        change: Change,
        #[arg(required = true)]
        packages: Vec<String>,
    },
}

#[derive(Args)]
struct Lock {
    #[arg(long)]
    lock_finalization: bool,
}

#[derive(Args)]
struct Change {
    #[command(flatten)]
    lock: Lock,
    #[arg(long)]
    install: Vec<String>,
    #[arg(long)]
    uninstall: Vec<String>,
}

fn main() {
    let CommandLine { sysroot, command } = CommandLine::parse();
    finish(async move {
        let host = open(sysroot)?;
        run(&host, command).await
    })
}

async fn run(host: &Host, command: Command) -> Result<()> {
    match command {
        Command::Status { json } => show(host, json),
        Command::Rebase {
            lock, reference, ..
        } => rebase(host, &lock, &reference).await,
        Command::Kargs {
            deploy_index,
            delete_if_present,
            append,
            lock,
        } => {
            if delete_if_present.is_empty() && append.is_empty() {
                return show_arguments(host, deploy_index);
            }
            change_arguments(host, &lock, delete_if_present, append).await
        }
        Command::Update { change } => {
            layer(host, &change.lock, |now| {
                now.changed(&change.install, &change.uninstall)
            })
            .await
        }
        Command::Install { change, packages } => {
            let install = [change.install.clone(), packages].concat();
            layer(host, &change.lock, |now| {
                now.changed(&install, &change.uninstall)
            })
            .await
        }
        Command::Uninstall { change, packages } => {
            let uninstall = [change.uninstall.clone(), packages].concat();
            layer(host, &change.lock, |now| {
                now.changed(&change.install, &uninstall)
            })
            .await
        }
        Command::Override(change) => override_packages(host, change).await,
        Command::Cleanup {
            pending, rollback, ..
        } => clean_up(host, pending, rollback).await,
        Command::Rollback => roll_back(host).await,
        Command::FinalizeDeployment {
            checksum,
            allow_unlocked,
            ..
        } => finalize(host, checksum, allow_unlocked),
    }
}

/// Without a lock option, the real one leaves the lock unchanged.
fn is_to_be_locked(host: &Host, lock: &Lock) -> bool {
    lock.lock_finalization || ostree_host::is_locked(host)
}

fn show(host: &Host, as_json: bool) -> Result<()> {
    let status = ostree_host::status(host)?;
    if !as_json {
        println!("State: idle");
        for found in &status.deployments {
            println!("  {}", found.image.as_deref().unwrap_or("no image"));
        }
        return Ok(());
    }
    let deployments = status
        .deployments
        .iter()
        .map(|found| describe(host, found, status.locked))
        .collect::<Result<Vec<_>>>()?;
    let answer = json!({
        "deployments": deployments,
        "transaction": null,
        "cached-update": null,
        "update-driver": null,
    });
    println!("{answer:#}");
    Ok(())
}

fn describe(host: &Host, found: &Deployment, locked: bool) -> Result<Value> {
    let real = deployment(host, &found.id)?;
    let Wishes { packages, removals } = origin::wishes(&real);
    let mut answer = json!({
        "id": format!("{}-{}", found.stateroot, found.id),
        "osname": found.stateroot,
        "checksum": found.checksum,
        "serial": real.deployserial(),
        "version": found.version,
        "booted": found.booted,
        "staged": found.staged,
        "pinned": found.pinned,
        "unlocked": "none",
        "requested-packages": packages,
        "requested-local-packages": [],
        "requested-base-removals": removals,
        "requested-base-local-replacements": [],
        "packages": packages,
        "base-removals": [],
        "base-local-replacements": [],
        "base-checksum": origin::base_commit(&real),
        "base-commit-meta": {},
        "regenerate-initramfs": false,
    });
    let fields = answer.as_object_mut().context("an object")?;
    if let Some(reference) = origin::image(&real) {
        fields.insert("container-image-reference".to_owned(), json!(reference));
    }
    if let Some(digest) = &found.digest {
        fields.insert("container-image-reference-digest".to_owned(), json!(digest));
    }
    if found.staged && locked {
        fields.insert("finalization-locked".to_owned(), json!(true));
    }
    Ok(answer)
}

/// The image that a reference of ostree names, and whether it must be signed.
fn image_of(reference: &str) -> Result<(Image, bool)> {
    let unsigned = [
        "ostree-unverified-registry:",
        "ostree-unverified-image:docker://",
    ];
    let signed = "ostree-image-signed:docker://";
    if let Some(image) = reference.strip_prefix(signed) {
        return Ok((image.parse()?, true));
    }
    let image = unsigned
        .iter()
        .find_map(|prefix| reference.strip_prefix(prefix));
    let image = image.with_context(|| format!("Invalid container image reference {reference}"))?;
    Ok((image.parse()?, false))
}

async fn rebase(host: &Host, lock: &Lock, reference: &str) -> Result<()> {
    let (image, signed) = image_of(reference)?;
    println!("Pulling manifest: {reference}");
    let (state, _) = ostree_host::pull(host, &image, signed, &mut |progress| {
        println!(
            "Fetched ostree chunk {} of {}",
            progress.layers, progress.total_layers
        );
    })
    .await?;
    let status = ostree_host::status(host)?;
    let from = newest(&status)?;
    let wishes = origin::wishes(&deployment(host, &from.id)?);
    stage(host, lock, from, &state.merge_commit, reference, &wishes).await
}

/// Stages an image with packages over it, in place of the staged deployment.
async fn stage(
    host: &Host,
    lock: &Lock,
    from: &Deployment,
    base: &str,
    reference: &str,
    wishes: &Wishes,
) -> Result<()> {
    let checksum = layers::commit(&host.sysroot().repo(), &root(), base, &wishes.packages)?;
    let commit = StageCommit {
        checksum,
        origin: origin::write(reference, base, wishes)?,
        kernel_arguments: from.kernel_arguments.clone(),
        lock: is_to_be_locked(host, lock),
    };
    ostree_host::stage_commit(host, &commit).await?;
    println!("Staging deployment... done");
    Ok(())
}

async fn layer(host: &Host, lock: &Lock, change: impl Fn(&Wishes) -> Wishes) -> Result<()> {
    let status = ostree_host::status(host)?;
    let from = newest(&status)?;
    let real = deployment(host, &from.id)?;
    let before = origin::wishes(&real);
    let after = change(&before);
    if after == before {
        println!("No changes.");
        return Ok(());
    }
    let reference = origin::image(&real).context("the deployment does not come from an image")?;
    stage(
        host,
        lock,
        from,
        &origin::base_commit(&real),
        &reference,
        &after,
    )
    .await
}

async fn override_packages(host: &Host, wanted: Override) -> Result<()> {
    match wanted {
        Override::Remove { change, packages } => {
            layer(host, &change.lock, |now| {
                let mut after = now.changed(&change.install, &change.uninstall);
                after.removals.extend(packages.iter().cloned());
                after.removals.sort();
                after.removals.dedup();
                after
            })
            .await
        }
        Override::Reset { change, packages } => {
            layer(host, &change.lock, |now| {
                let mut after = now.changed(&change.install, &change.uninstall);
                after.removals.retain(|name| !packages.contains(name));
                after
            })
            .await
        }
    }
}

fn show_arguments(host: &Host, index: Option<usize>) -> Result<()> {
    let found = ostree_host::status(host)?.deployments;
    let found = found
        .get(index.unwrap_or(0))
        .context("Out of range deployment index")?;
    println!("{}", found.kernel_arguments.join(" "));
    Ok(())
}

async fn change_arguments(
    host: &Host,
    lock: &Lock,
    delete_if_present: Vec<String>,
    append: Vec<String>,
) -> Result<()> {
    let request = KernelArgumentRequest {
        delete_if_present,
        append,
        base: ArgumentBase::Newest,
        lock: is_to_be_locked(host, lock),
    };
    let staged = ostree_host::set_kernel_arguments(host, &request).await?;
    println!(
        "{}",
        if staged.changed {
            "Kernel arguments updated."
        } else {
            "No changes."
        }
    );
    Ok(())
}

async fn clean_up(host: &Host, pending: bool, rollback: bool) -> Result<()> {
    let status = ostree_host::status(host)?;
    if pending && !ostree_host::discard(host).await? {
        if let Some(found) = pending_of(&status) {
            ostree_host::clean_up(host, &found.id).await?;
        }
    }
    if let (true, Some(found)) = (rollback, &status.rollback) {
        ostree_host::clean_up(host, &found.id).await?;
    }
    println!("Freed: 0 bytes");
    Ok(())
}

/// A finished deployment before the booted one, as a rollback leaves it until the reboot.
fn pending_of(status: &Status) -> Option<&Deployment> {
    let first = status.deployments.iter().find(|found| !found.staged)?;
    (status.booted.is_some() && !first.booted).then_some(first)
}

async fn roll_back(host: &Host) -> Result<()> {
    let status = ostree_host::status(host)?;
    ensure!(
        status.staged.is_none(),
        "Staged deployment (remove with cleanup -p)"
    );
    let pending = pending_of(&status).and(status.booted.as_ref());
    let Some(target) = status.rollback.as_ref().or(pending) else {
        bail!("No rollback deployment found");
    };
    println!("Moving '{}' to be first deployment", target.id);
    ostree_host::roll_back(host, &target.id).await?;
    Ok(())
}

/// Like the real one, it reboots at once.
fn finalize(host: &Host, checksum: Option<String>, allow_unlocked: bool) -> Result<()> {
    let status = ostree_host::status(host)?;
    let staged = status.staged.as_ref().context("No pending deployment")?;
    let base = origin::base_commit(&deployment(host, &staged.id)?);
    if let Some(expected) = checksum.filter(|expected| *expected != base) {
        bail!("Expected staged base checksum {expected}, but found {base}");
    }
    ensure!(
        status.locked || allow_unlocked,
        "Staged deployment already unlocked"
    );
    ostree_host::finalize(host)?;
    let status = std::process::Command::new("systemctl")
        .arg("reboot")
        .status()?;
    ensure!(status.success(), "systemctl reboot failed");
    Ok(())
}
