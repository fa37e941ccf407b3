//! The abilities of this host's skopeo.

use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use ostree_ext::containers_image_proxy::ImageProxyConfig;
use rustix::net::{
    recvmsg, send, socketpair, AddressFamily, RecvAncillaryBuffer, RecvFlags, SendFlags,
    SocketFlags, SocketType,
};
use serde::Deserialize;

use crate::Failure;

/// From this version of its image proxy, skopeo applies the signature policy before it returns an
/// image; older ones ignore even `reject`.
const VERIFIES_FROM: (u64, u64, u64) = (0, 2, 6);

/// @refuses when images would come unverified
pub(crate) async fn require_verification() -> Result<(), Failure> {
    let version = tokio::task::spawn_blocking(protocol_version)
        .await
        .map_err(|error| Failure::other(error.to_string()))??;
    if parse(&version).is_some_and(|version| version >= VERIFIES_FROM) {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "the signature policy of this host asks for a signature, and its skopeo (image proxy \
         {version}) does not verify any; install skopeo 1.14 or newer"
    )))
}

/// How images are fetched. A skopeo that waits for a registry must end with this process; under
/// systemd, where it runs as nobody, ostree-ext ensures that.
pub(crate) fn proxy_config() -> ImageProxyConfig {
    let in_service = std::env::var_os("INVOCATION_ID").is_some_and(|id| !id.is_empty());
    let mut config = ImageProxyConfig::default();
    if !in_service {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", "skopeo"]);
        config.skopeo_cmd = Some(command);
    }
    config
}

#[derive(Deserialize)]
struct Reply {
    success: bool,
    value: serde_json::Value,
    error: String,
}

/// Sends the first request of the protocol, which needs no network.
fn protocol_version() -> Result<String, Failure> {
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(std::io::Error::from)?;
    let mut child = Command::new("skopeo")
        .arg("experimental-image-proxy")
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Failure::other(format!("skopeo does not start: {error}")))?;
    let answer = ask(&ours);
    drop(ours); // ends it
    child.wait()?;
    let reply = answer?;
    match (reply.success, reply.value.as_str()) {
        (true, Some(version)) => Ok(version.to_owned()),
        _ => Err(Failure::other(format!(
            "skopeo does not initialize: {}",
            reply.error
        ))),
    }
}

fn ask(socket: &OwnedFd) -> Result<Reply, Failure> {
    send(
        socket,
        br#"{"method":"Initialize","args":[]}"#,
        SendFlags::empty(),
    )
    .map_err(std::io::Error::from)?;
    let mut buffer = [0u8; 4096];
    let mut control = RecvAncillaryBuffer::default();
    let received = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut buffer)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )
    .map_err(std::io::Error::from)?;
    serde_json::from_slice(&buffer[..received.bytes])
        .map_err(|error| Failure::other(format!("skopeo answers in an unknown way: {error}")))
}

fn parse(version: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = version.split('.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_first_version_that_verifies() {
        assert!(parse("0.2.3").unwrap() < VERIFIES_FROM);
        assert!(parse("0.2.6").unwrap() >= VERIFIES_FROM);
        assert!(parse("0.10.0").unwrap() >= VERIFIES_FROM);
        assert_eq!(parse("new"), None);
    }
}
