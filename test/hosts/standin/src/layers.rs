//! Packages over an image, as one more commit in the repository.

use std::path::Path;

use anyhow::Result;
use slipway_ostree::ostree_ext::gio::prelude::*;
use slipway_ostree::ostree_ext::gio::{Cancellable, File};
use slipway_ostree::ostree_ext::glib::{Variant, VariantDict};
use slipway_ostree::ostree_ext::ostree;

use crate::packages;

/// Caches a package that was layered once, as rpm-ostree does.
fn reference(package: &str) -> String {
    format!("standin/package/{package}")
}

/// The commit of `base` with these packages over it, in order; none = `base` itself.
pub fn commit(repo: &ostree::Repo, root: &Path, base: &str, names: &[String]) -> Result<String> {
    if names.is_empty() {
        return Ok(base.to_owned());
    }
    let mut layers = Vec::new();
    for name in names {
        layers.push(package_commit(repo, root, name)?);
    }
    let tree = ostree::MutableTree::new();
    for layer in std::iter::once(base).chain(layers.iter().map(String::as_str)) {
        let (content, _) = repo.read_commit(layer, Cancellable::NONE)?;
        repo.write_directory_to_mtree(&content, &tree, None, Cancellable::NONE)?;
    }
    write(repo, &tree, Some(base), &metadata(repo, base)?)
}

/// The package of a repository; when it is gone, the cached one.
fn package_commit(repo: &ostree::Repo, root: &Path, name: &str) -> Result<String> {
    let found = match packages::find(root, name) {
        Ok(found) => found,
        Err(error) => {
            let cached = repo.resolve_rev(&reference(name), true)?;
            return cached.map(|commit| commit.to_string()).ok_or(error);
        }
    };
    let scratch = std::env::temp_dir().join(format!("standin-{}-{name}", std::process::id()));
    let directory = found.unpacked(&scratch)?;
    let tree = ostree::MutableTree::new();
    let file = File::for_path(directory);
    let result = repo
        .write_directory_to_mtree(&file, &tree, None, Cancellable::NONE)
        .map_err(anyhow::Error::from)
        .and_then(|()| write(repo, &tree, None, &VariantDict::new(None).end()));
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch)?;
    }
    let commit = result?;
    repo.set_ref_immediate(None, &reference(name), Some(&commit), Cancellable::NONE)?;
    Ok(commit)
}

/// The boot loader's metadata of the image also holds for the layered one.
fn metadata(repo: &ostree::Repo, base: &str) -> Result<Variant> {
    let (commit, _) = repo.load_commit(base)?;
    let dict = VariantDict::new(Some(&commit.child_value(0)));
    dict.insert("rpmostree.clientlayer", true);
    Ok(dict.end())
}

fn write(
    repo: &ostree::Repo,
    tree: &ostree::MutableTree,
    parent: Option<&str>,
    metadata: &Variant,
) -> Result<String> {
    let root = repo.write_mtree(tree, Cancellable::NONE)?;
    let root = root
        .downcast::<ostree::RepoFile>()
        .expect("a repository writes its own files");
    let commit = repo.write_commit(parent, None, None, Some(metadata), &root, Cancellable::NONE)?;
    Ok(commit.to_string())
}
