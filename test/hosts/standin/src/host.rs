//! The machine that a stand-in works on.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;

use anyhow::{Context, Result};
use slipway_ostree::ostree_ext::ostree;
use slipway_ostree::{Deployment, Host, HostOptions, Status};

/// Opens the sysroot that `--sysroot` or OSTREE_SYSROOT names, else the running one.
pub fn open(sysroot: Option<PathBuf>) -> Result<Host> {
    let named = sysroot.or_else(|| std::env::var_os("OSTREE_SYSROOT").map(PathBuf::from));
    let options = match named {
        Some(sysroot) if sysroot.as_os_str() != "/" => HostOptions {
            run: sysroot.join("run"),
            sysroot,
            stateroot: None,
        },
        _ => HostOptions::default(),
    };
    Ok(Host::open(options)?)
}

/// Path of a file of the machine, such as `etc/yum.repos.d`.
pub fn root() -> PathBuf {
    std::env::var_os("STANDIN_ROOT")
        .unwrap_or_else(|| OsString::from("/"))
        .into()
}

/// Runs a command to its end and exits as the real programs do: `error: …` and status 1.
pub fn finish<F: Future<Output = Result<()>>>(work: F) -> ! {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let result = runtime.context("starting").and_then(|runtime| {
        let result = runtime.block_on(work);
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::exit(1);
        }
    }
}

/// Base of the next change: the staged deployment, else the booted one, else the newest.
pub fn newest(status: &Status) -> Result<&Deployment> {
    status
        .staged
        .as_ref()
        .or(status.booted.as_ref())
        .or_else(|| status.deployments.first())
        .context("there is no deployment")
}

/// libostree's own object of a deployment.
pub fn deployment(host: &Host, id: &str) -> Result<ostree::Deployment> {
    host.sysroot()
        .deployments()
        .into_iter()
        .find(|deployment| format!("{}.{}", deployment.csum(), deployment.deployserial()) == id)
        .with_context(|| format!("there is no deployment {id}"))
}
