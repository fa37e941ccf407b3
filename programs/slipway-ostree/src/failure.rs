use std::fmt;

use serde::Serialize;

/// Errors, by names of Slipway's failure catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum FailureName {
    /// The image is not for this host, or the host has no space for it.
    ImageRefused,
    /// The registry did not send the image, or sent a broken one.
    PullFailed,
    /// Anything else: libostree, the file system, an invalid request.
    OsCommandFailed,
}

/// An error with its name; the message is one line.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    pub name: FailureName,
    pub message: String,
}

impl Failure {
    /// The host refuses the image.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(FailureName::ImageRefused, message)
    }

    /// An error without a name of its own.
    pub fn other(message: impl Into<String>) -> Self {
        Self::new(FailureName::OsCommandFailed, message)
    }

    /// An error of a library during a pull.
    pub fn pull(error: &anyhow::Error) -> Self {
        Self::new(FailureName::PullFailed, chain(error))
    }

    fn new(name: FailureName, message: impl Into<String>) -> Self {
        let message = message.into();
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { name, message }
    }
}

/// All causes in one line, without those that the outer one quotes.
fn chain(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
    }
    parts.join(": ")
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<Failure>() {
            Ok(failure) => failure,
            Err(error) => Self::other(chain(&error)),
        }
    }
}

impl From<ostree_ext::glib::Error> for Failure {
    fn from(error: ostree_ext::glib::Error) -> Self {
        Self::other(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::other(error.to_string())
    }
}
