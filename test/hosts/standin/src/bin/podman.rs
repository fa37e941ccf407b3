//! Stand-in for the few commands of `podman` that copy files out of an image: see README.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use anyhow::{bail, ensure, Context, Result};
use clap::{Parser, Subcommand};
use serde_json::Value;
use slipway_standin::host::finish;

const STORE: &str = "/var/lib/slipway-standin";

#[derive(Parser)]
#[command(name = "podman")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Pull {
        #[arg(long, short)]
        quiet: bool,
        #[arg(long)]
        authfile: Option<PathBuf>,
        image: String,
    },
    Create {
        #[arg(long)]
        net: Option<String>,
        #[arg(long)]
        name: String,
        image: String,
        command: Vec<String>,
    },
    Cp {
        from: String,
        to: PathBuf,
    },
    Rm {
        #[arg(long, short)]
        force: bool,
        #[arg(long, short)]
        ignore: bool,
        name: String,
    },
}

fn main() {
    let CommandLine { command } = CommandLine::parse();
    finish(async move {
        match command {
            Command::Pull {
                authfile, image, ..
            } => pull(&image, authfile.as_deref()),
            Command::Create { name, image, .. } => create(&name, &image),
            Command::Cp { from, to } => copy(&from, &to),
            Command::Rm { name, ignore, .. } => remove(&name, ignore),
        }
    })
}

/// Where an image or a container is kept; names have characters that directories should not have.
fn place(kind: &str, name: &str) -> PathBuf {
    let safe: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let store = std::env::var_os("STANDIN_STORE").map(PathBuf::from);
    store.unwrap_or_else(|| STORE.into()).join(kind).join(safe)
}

fn pull(image: &str, authfile: Option<&Path>) -> Result<()> {
    let directory = place("images", image);
    if directory.join("manifest.json").is_file() {
        return Ok(());
    }
    fs::create_dir_all(&directory)?;
    let mut skopeo = Process::new("skopeo");
    skopeo.arg("copy").arg("--quiet");
    if let Some(authfile) = authfile {
        skopeo.arg("--src-authfile").arg(authfile);
    }
    skopeo
        .arg(format!("docker://{image}"))
        .arg(format!("dir:{}", directory.display()));
    let status = skopeo.status().context("skopeo")?;
    ensure!(status.success(), "pulling {image}: skopeo failed");
    println!("{image}");
    Ok(())
}

fn create(name: &str, image: &str) -> Result<()> {
    ensure!(place("images", image).is_dir(), "{image}: image not known");
    let container = place("containers", name);
    ensure!(
        !container.exists(),
        "the container name {name:?} is already in use"
    );
    fs::create_dir_all(container.parent().context("a parent")?)?;
    fs::write(&container, image)?;
    println!("{name}");
    Ok(())
}

fn remove(name: &str, ignore: bool) -> Result<()> {
    match fs::remove_file(place("containers", name)) {
        Err(_) if ignore => Ok(()),
        result => result.with_context(|| format!("no container with name {name:?}")),
    }
}

/// `NAME:/PATH/.` to a directory that is there.
fn copy(from: &str, to: &Path) -> Result<()> {
    let (name, path) = from
        .split_once(':')
        .context("the stand-in copies out of containers only")?;
    let image = fs::read_to_string(place("containers", name)).context("no such container")?;
    let unpacked = place("unpacked", name);
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked)?;
    }
    fs::create_dir_all(&unpacked)?;
    for layer in layers(&place("images", image.trim()))? {
        let status = Process::new("tar")
            .arg("-xf")
            .arg(&layer)
            .arg("-C")
            .arg(&unpacked)
            .status()?;
        ensure!(status.success(), "tar could not unpack {}", layer.display());
    }
    let source = unpacked.join(path.trim_start_matches('/'));
    if !source.exists() {
        bail!("{path}: no such file or directory in {image}");
    }
    let status = Process::new("cp").arg("-a").arg(&source).arg(to).status()?;
    ensure!(status.success(), "cp failed");
    fs::remove_dir_all(&unpacked)?;
    Ok(())
}

/// The files of an image's layers, as skopeo's `dir:` keeps them.
fn layers(image: &Path) -> Result<Vec<PathBuf>> {
    let manifest: Value = serde_json::from_slice(&fs::read(image.join("manifest.json"))?)?;
    let layers = manifest["layers"]
        .as_array()
        .context("a manifest has layers")?;
    layers
        .iter()
        .map(|layer| {
            let digest = layer["digest"].as_str().context("a layer has a digest")?;
            Ok(image.join(digest.trim_start_matches("sha256:")))
        })
        .collect()
}
