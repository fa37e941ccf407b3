use std::fmt;
use std::str::FromStr;

use ostree_ext::container::{ImageReference, OstreeImageReference, SignatureSource, Transport};

use crate::Failure;

/// An immutable reference to one image in a registry: `name@sha256:…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    name: String,
    digest: String,
}

impl Image {
    /// `sha256:…`.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// As libostree writes it into the origin; `signed` = the signature policy of the host decides.
    pub fn reference(&self, signed: bool) -> OstreeImageReference {
        OstreeImageReference {
            sigverify: match signed {
                true => SignatureSource::ContainerPolicy,
                false => SignatureSource::ContainerPolicyAllowInsecure,
            },
            imgref: ImageReference {
                transport: Transport::Registry,
                name: self.to_string(),
            },
        }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.name, self.digest)
    }
}

impl FromStr for Image {
    type Err = Failure;

    /// Reads `name@sha256:…`; drops a tag beside the digest, because skopeo refuses both together.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let (name, _) = text.split_once('@').ok_or_else(|| no_digest(text))?;
        let digest = digest_of(text).ok_or_else(|| no_digest(text))?;
        let end = match (name.rfind(':'), name.rfind('/')) {
            (Some(colon), Some(slash)) if colon > slash => colon,
            (Some(colon), None) => colon,
            _ => name.len(),
        };
        if end == 0 || name.contains(char::is_whitespace) {
            return Err(Failure::refused(format!(
                "{text:?} is not an image reference"
            )));
        }
        Ok(Self {
            name: name[..end].to_owned(),
            digest: digest.to_owned(),
        })
    }
}

fn no_digest(text: &str) -> Failure {
    Failure::refused(format!(
        "{text:?} has no digest; name the image as name@sha256:… so that every host gets the same one"
    ))
}

/// The digest in a reference: `sha256:` and 64 hexadecimal digits.
pub fn digest_of(reference: &str) -> Option<&str> {
    let (_, digest) = reference.rsplit_once('@')?;
    let hex = digest.strip_prefix("sha256:")?;
    let fits = hex.len() == 64
        && hex
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    fits.then_some(digest)
}

/// Whether two references name the same image: by digest if both have one, else by text.
pub fn same_image(left: &str, right: &str) -> bool {
    match (digest_of(left), digest_of(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn keeps_name_and_digest_and_drops_the_tag() {
        let image: Image = format!("host:5000/os:v1@{DIGEST}").parse().unwrap();
        assert_eq!(image.to_string(), format!("host:5000/os@{DIGEST}"));
        let plain: Image = format!("host:5000/os@{DIGEST}").parse().unwrap();
        assert_eq!(plain, image);
    }

    #[test]
    fn refuses_what_may_change() {
        for text in [
            "host/os:v1",
            "host/os",
            "host/os@sha256:12",
            "@sha256:12",
            "",
        ] {
            assert!(text.parse::<Image>().is_err(), "{text}");
        }
    }

    #[test]
    fn says_which_form_the_origin_gets() {
        let image: Image = format!("host/os@{DIGEST}").parse().unwrap();
        assert_eq!(
            image.reference(false).to_string(),
            format!("ostree-unverified-registry:host/os@{DIGEST}")
        );
        assert_eq!(
            image.reference(true).to_string(),
            format!("ostree-image-signed:docker://host/os@{DIGEST}")
        );
    }

    #[test]
    fn compares_by_digest() {
        assert!(same_image(
            &format!("a/os@{DIGEST}"),
            &format!("mirror/os@{DIGEST}")
        ));
        assert!(!same_image(&format!("a/os@{DIGEST}"), "a/os:v1"));
        assert!(same_image("a/os:v1", "a/os:v1"));
    }
}
