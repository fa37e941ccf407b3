//! Stand-in for `bootc`: see README.md.

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::path::PathBuf;

use anyhow::{bail, ensure, Context, Result};
use clap::{Args, Parser, Subcommand};
use serde_json::{json, Value};
use slipway_ostree::{Deployment, Host, Image, Progress, StageRequest, Status};
use slipway_standin::host::{deployment, finish, open};
use slipway_standin::{origin, ostree_host};

/// Stands in for bootc 1.3, which has `--progress-fd` and no lock option.
#[derive(Parser)]
#[command(name = "bootc", version = "1.3.0")]
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
    Switch {
        #[command(flatten)]
        options: Pull,
        #[arg(long, default_value = "registry")]
        transport: String,
        #[arg(long)]
        enforce_container_sigpolicy: bool,
        #[arg(long)]
        retain: bool,
        image: String,
    },
    Upgrade {
        #[command(flatten)]
        options: Pull,
        #[arg(long)]
        check: bool,
    },
    Rollback,
}

#[derive(Args)]
struct Pull {
    #[arg(long)]
    quiet: bool,
    #[arg(long, hide = true)]
    progress_fd: Option<i32>,
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
        Command::Switch {
            options,
            transport,
            enforce_container_sigpolicy,
            image,
            ..
        } => {
            ensure!(
                transport == "registry",
                "the stand-in knows registries only"
            );
            switch(host, &options, &image, enforce_container_sigpolicy).await
        }
        // Images are named by digest, so there is never a newer one.
        Command::Upgrade { .. } => {
            println!("No update available.");
            Ok(())
        }
        Command::Rollback => roll_back(host).await,
    }
}

fn show(host: &Host, as_json: bool) -> Result<()> {
    let status = ostree_host::status(host)?;
    if !as_json {
        println!(
            "Booted image: {:?}",
            status.booted.and_then(|found| found.image)
        );
        return Ok(());
    }
    let queued = queued(&status);
    let rollback = queued.or(status.rollback.as_ref());
    let spec = status.staged.as_ref().or(status.booted.as_ref());
    let answer = json!({
        "apiVersion": "org.containers.bootc/v1",
        "kind": "BootcHost",
        "metadata": { "name": "host" },
        "spec": {
            "image": spec.and_then(reference),
            "bootOrder": if queued.is_some() { "rollback" } else { "default" },
        },
        "status": {
            "staged": entry(host, status.staged.as_ref())?,
            "booted": entry(host, status.booted.as_ref())?,
            "rollback": entry(host, rollback)?,
            "rollbackQueued": queued.is_some(),
            "type": status.booted.as_ref().map(|_| "bootcHost"),
        },
    });
    println!("{answer}");
    Ok(())
}

/// The deployment that a rollback has put before the booted one.
fn queued(status: &Status) -> Option<&Deployment> {
    let first = status.deployments.iter().find(|found| !found.staged)?;
    (status.booted.is_some() && !first.booted).then_some(first)
}

fn entry(host: &Host, found: Option<&Deployment>) -> Result<Value> {
    let Some(found) = found else {
        return Ok(Value::Null);
    };
    let real = deployment(host, &found.id)?;
    let wishes = origin::wishes(&real);
    // bootc treats a deployment with changes by rpm-ostree as none of its images.
    let incompatible = wishes != origin::Wishes::default();
    let image = match (reference(found), &found.digest) {
        (Some(reference), Some(digest)) if !incompatible => json!({
            "image": reference,
            "version": found.version,
            "timestamp": null,
            "imageDigest": digest,
        }),
        _ => Value::Null,
    };
    Ok(json!({
        "image": image,
        "cachedUpdate": null,
        "incompatible": incompatible,
        "pinned": found.pinned,
        "store": "ostreeContainer",
        "ostree": { "checksum": found.checksum, "deploySerial": real.deployserial() },
    }))
}

fn reference(found: &Deployment) -> Option<Value> {
    let image = found.image.as_ref()?;
    let signature = if found.signed {
        json!("containerPolicy")
    } else {
        Value::Null
    };
    Some(json!({ "image": image, "transport": "registry", "signature": signature }))
}

async fn switch(host: &Host, options: &Pull, image: &str, signed: bool) -> Result<()> {
    let image: Image = image.parse()?;
    let mut report = reporter(options.progress_fd);
    let request = StageRequest {
        image: image.clone(),
        signed,
        // bootc 1.3 has no lock option: the lock stays unchanged.
        lock: ostree_host::is_locked(host),
        kernel_arguments: None,
    };
    let staged = ostree_host::stage(host, &request, &mut |progress| report(progress)).await?;
    if staged.changed {
        println!("Queued for next boot: {image}");
    } else {
        println!("Image specification is unchanged.");
    }
    Ok(())
}

/// Writes progress to a descriptor that the caller has opened for it.
fn reporter(descriptor: Option<i32>) -> impl FnMut(Progress) {
    // SAFETY: the option says that this descriptor is ours to write to.
    let mut file = descriptor.map(|number| unsafe { File::from_raw_fd(number) });
    move |progress| {
        let Some(open) = &mut file else { return };
        let event = json!({
            "type": "ProgressBytes",
            "apiVersion": "org.containers.bootc.progress/v1",
            "task": "pulling",
            "description": "Pulling Image",
            "id": "image",
            "bytesCached": 0,
            "bytes": progress.bytes,
            "bytesTotal": progress.total_bytes,
            "stepsCached": 0,
            "steps": progress.layers,
            "stepsTotal": progress.total_layers,
            "subtasks": [],
        });
        if writeln!(open, "{event}").is_err() {
            file = None;
        }
    }
}

async fn roll_back(host: &Host) -> Result<()> {
    let status = ostree_host::status(host)?;
    let target = match (queued(&status), &status.rollback, &status.booted) {
        (Some(_), _, Some(booted)) => booted,
        (None, Some(rollback), _) => rollback,
        _ => bail!("No rollback available"),
    };
    ostree_host::roll_back(host, &target.id)
        .await
        .context("rolling back")?;
    println!("Next boot: {}", target.id);
    Ok(())
}
