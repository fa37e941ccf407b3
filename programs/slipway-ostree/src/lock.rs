use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::{Failure, Host};

/// While this file exists, ostree does not finalize the staged deployment at shutdown.
fn path(host: &Host) -> PathBuf {
    host.options.run.join("ostree/staged-deployment-locked")
}

/// Whether the staged deployment is kept from taking over at the next boot.
pub fn is_locked(host: &Host) -> bool {
    path(host).exists()
}

/// Lets the staged deployment take over at the next boot; false = nothing is staged.
pub fn finalize(host: &Host) -> Result<bool, Failure> {
    unlock(host)?;
    Ok(host.sysroot.staged_deployment().is_some())
}

pub(crate) fn lock(host: &Host) -> Result<(), Failure> {
    let path = path(host);
    let directory = path.parent().unwrap_or(&path);
    fs::create_dir_all(directory)?;
    fs::File::options().create(true).append(true).open(&path)?;
    Ok(())
}

pub(crate) fn unlock(host: &Host) -> Result<(), Failure> {
    match fs::remove_file(path(host)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
