//! The origin file of a deployment, with rpm-ostree's groups for requested packages.

use anyhow::Result;
use slipway_ostree::ostree_ext::glib::KeyFile;
use slipway_ostree::ostree_ext::ostree;

/// Requests beside the image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Packages to layer over the image.
    pub packages: Vec<String>,
    /// Packages of the image to remove.
    pub removals: Vec<String>,
}

const IMAGE: (&str, &str) = ("origin", "container-image-reference");
const PACKAGES: (&str, &str) = ("packages", "requested");
const REMOVALS: (&str, &str) = ("overrides", "remove");
/// The stand-in's own key: the commit of the image beneath the packages.
const BASE: (&str, &str) = ("standin", "base");

/// Reads them from a deployment's origin.
pub fn wishes(deployment: &ostree::Deployment) -> Wishes {
    let origin = deployment.origin();
    let list = |at: (&str, &str)| {
        origin
            .as_ref()
            .map(|file| words(file, at))
            .unwrap_or_default()
    };
    Wishes {
        packages: list(PACKAGES),
        removals: list(REMOVALS),
    }
}

/// The commit of the image beneath the packages; without any, the deployment's own.
pub fn base_commit(deployment: &ostree::Deployment) -> String {
    deployment
        .origin()
        .and_then(|origin| text(&origin, BASE))
        .unwrap_or_else(|| deployment.csum().to_string())
}

/// The image as the origin has it.
pub fn image(deployment: &ostree::Deployment) -> Option<String> {
    deployment.origin().and_then(|origin| text(&origin, IMAGE))
}

/// An origin for this image with these requests.
pub fn write(image: &str, base: &str, wishes: &Wishes) -> Result<KeyFile> {
    let file = KeyFile::new();
    file.set_string(IMAGE.0, IMAGE.1, image);
    let put = |at: (&str, &str), values: &[String]| {
        if !values.is_empty() {
            file.set_string(at.0, at.1, &format!("{};", values.join(";")));
        }
    };
    put(PACKAGES, &wishes.packages);
    put(REMOVALS, &wishes.removals);
    if !wishes.packages.is_empty() {
        file.set_string(BASE.0, BASE.1, base);
    }
    Ok(file)
}

impl Wishes {
    /// Adds and removes; no error when a package is already there or missing.
    pub fn changed(&self, install: &[String], uninstall: &[String]) -> Self {
        let mut packages = self.packages.clone();
        packages.retain(|name| !uninstall.contains(name));
        packages.extend(install.iter().cloned());
        packages.sort();
        packages.dedup();
        Self {
            packages,
            removals: self.removals.clone(),
        }
    }
}

fn text(file: &KeyFile, (group, key): (&str, &str)) -> Option<String> {
    file.string(group, key).ok().map(|value| value.to_string())
}

fn words(file: &KeyFile, at: (&str, &str)) -> Vec<String> {
    let value = text(file, at).unwrap_or_default();
    value
        .split(';')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn keeps_wishes_in_the_groups_of_rpm_ostree() {
        let wishes = Wishes {
            packages: names(&["a", "b"]),
            removals: names(&["kernel"]),
        };
        let file = write("ostree-unverified-registry:x", "c0ffee", &wishes).unwrap();
        assert_eq!(words(&file, PACKAGES), wishes.packages);
        assert_eq!(words(&file, REMOVALS), wishes.removals);
        assert_eq!(text(&file, BASE).as_deref(), Some("c0ffee"));
        let plain = write("x", "c0ffee", &Wishes::default()).unwrap();
        assert_eq!(text(&plain, BASE), None);
    }

    #[test]
    fn installs_once_and_uninstalls_what_is_there() {
        let wishes = Wishes {
            packages: names(&["b"]),
            removals: names(&[]),
        };
        let changed = wishes.changed(&names(&["a", "b"]), &names(&["z"]));
        assert_eq!(changed.packages, names(&["a", "b"]));
        assert_eq!(changed.changed(&[], &names(&["a"])).packages, names(&["b"]));
    }
}
