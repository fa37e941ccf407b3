//! Packages: directories or tar files in the repositories of /etc/yum.repos.d.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, ensure, Context, Result};

const REPOSITORIES: &str = "etc/yum.repos.d";

/// A package that was found: a directory whose content goes over the image.
pub enum Package {
    Directory(PathBuf),
    Archive(PathBuf),
}

/// Looks in every enabled repository, in the order of their files' names.
pub fn find(root: &Path, name: &str) -> Result<Package> {
    ensure!(!name.contains('/'), "{name} is not the name of a package");
    for repository in repositories(root)? {
        let directory = repository.join(name);
        if directory.is_dir() {
            return Ok(Package::Directory(directory));
        }
        let archive = repository.join(format!("{name}.tar"));
        if archive.is_file() {
            return Ok(Package::Archive(archive));
        }
    }
    bail!("Packages not found: {name}")
}

impl Package {
    /// The directory with its content; an archive is unpacked into `scratch`.
    pub fn unpacked(&self, scratch: &Path) -> Result<PathBuf> {
        let archive = match self {
            Self::Directory(directory) => return Ok(directory.clone()),
            Self::Archive(archive) => archive,
        };
        fs::create_dir_all(scratch)?;
        let status = Command::new("tar")
            .arg("-xf")
            .arg(archive)
            .arg("-C")
            .arg(scratch)
            .status()?;
        ensure!(
            status.success(),
            "tar could not unpack {}",
            archive.display()
        );
        Ok(scratch.to_owned())
    }
}

fn repositories(root: &Path) -> Result<Vec<PathBuf>> {
    let directory = root.join(REPOSITORIES);
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> = fs::read_dir(&directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "repo")
    });
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let content = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        found.extend(enabled(&content));
    }
    Ok(found)
}

/// The `file://` base of every section that is not switched off.
fn enabled(content: &str) -> Vec<PathBuf> {
    content
        .split("\n[")
        .filter(|section| !section.lines().any(|line| line.trim() == "enabled=0"))
        .filter_map(|section| {
            section
                .lines()
                .find_map(|line| line.trim().strip_prefix("baseurl=file://"))
        })
        .map(PathBuf::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_repositories_that_are_enabled() {
        let content = "[a]\nbaseurl=file:///x\nenabled=1\n[b]\nbaseurl=file:///y\nenabled=0\n\
                       [c]\nbaseurl=https://z\n";
        assert_eq!(enabled(content), [PathBuf::from("/x")]);
    }
}
