//! The command line of the library. Every command prints one JSON object as its last line on stdout;
//! lines before it are `{"progress":{…}}`. A failure is `{"error":{"name":…,"message":…}}` and exit
//! status 1.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use serde_json::{json, Value};
use slipway_ostree as ostree;
use slipway_ostree::{ArgumentBase, Failure, Host, HostOptions, Image, Progress};

#[derive(Parser)]
#[command(
    name = "slipway-ostree",
    version,
    about = "Stages OCI images on an ostree host; answers in JSON"
)]
struct CommandLine {
    /// The physical root; / is the running system
    #[arg(long, default_value = "/", global = true)]
    sysroot: PathBuf,
    /// Group of deployments that share /var; else that of the booted deployment
    #[arg(long, global = true)]
    stateroot: Option<String>,
    /// Directory of runtime state
    #[arg(long, default_value = "/run", global = true)]
    run: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The deployments with image, digest and kernel arguments
    Status,
    /// The facts about an image, and its layers that are not present
    Inspect(ImageArguments),
    /// Pull an image and stage it, locked unless told otherwise
    Stage {
        #[command(flatten)]
        image: ImageArguments,
        #[arg(long)]
        no_lock: bool,
    },
    /// Change kernel arguments on the staged deployment, or stage the booted one anew
    KernelArguments {
        #[arg(long, allow_hyphen_values = true)]
        delete_if_present: Vec<String>,
        #[arg(long, allow_hyphen_values = true)]
        append: Vec<String>,
        /// Where the change starts from
        #[arg(long, value_enum, default_value_t = Base::Booted)]
        base: Base,
        #[arg(long)]
        no_lock: bool,
    },
    /// Let the staged deployment take over at the next boot
    Finalize,
    /// Drop the staged deployment
    Discard,
    /// Make a deployment the default of the next boot
    Rollback { deployment: String },
    /// Drop a deployment that is not booted, and what only it needs
    CleanUp { deployment: String },
    /// Drop images and layers that no deployment needs
    Prune,
}

#[derive(clap::Args)]
struct ImageArguments {
    /// name@sha256:…
    image: String,
    /// The signature policy of the host must accept the image
    #[arg(long)]
    signed: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Base {
    Booted,
    Newest,
}

fn main() {
    let arguments = CommandLine::parse();
    let mut output = take_stdout();
    let result = open(&arguments).and_then(|host| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let result = runtime.block_on(run(&host, arguments.command, &mut output));
        // A blocked thread of an abandoned pull must not keep the process alive.
        runtime.shutdown_background();
        result
    });
    let status = match result {
        Ok(value) => {
            print(&mut output, &value);
            0
        }
        Err(failure) => {
            eprintln!("{failure}");
            print(&mut output, &json!({ "error": failure }));
            1
        }
    };
    std::process::exit(status);
}

/// A handle on stdout that children do not inherit. Output of the libraries goes to stderr from
/// here on.
fn take_stdout() -> File {
    let copy = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).expect("stdout is open");
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).expect("stderr is open");
    File::from(copy)
}

/// The parent process may be gone; the work is done all the same.
fn print(output: &mut File, value: &Value) {
    if let Err(error) = writeln!(output, "{value}") {
        eprintln!("cannot print the answer: {error}");
    }
}

fn open(arguments: &CommandLine) -> Result<Host, Failure> {
    Host::open(HostOptions {
        sysroot: arguments.sysroot.clone(),
        stateroot: arguments.stateroot.clone(),
        run: arguments.run.clone(),
    })
}

async fn run(host: &Host, command: Command, output: &mut File) -> Result<Value, Failure> {
    match command {
        Command::Status => answer(ostree::status(host)?),
        Command::Inspect(ImageArguments { image, signed }) => {
            answer(ostree::inspect(host, &image.parse()?, signed).await?)
        }
        Command::Stage { image, no_lock } => stage(host, image, !no_lock, output).await,
        Command::KernelArguments {
            delete_if_present,
            append,
            base,
            no_lock,
        } => {
            let request = ostree::KernelArgumentRequest {
                delete_if_present,
                append,
                base: match base {
                    Base::Booted => ArgumentBase::Booted,
                    Base::Newest => ArgumentBase::Newest,
                },
                lock: !no_lock,
            };
            answer(ostree::set_kernel_arguments(host, &request).await?)
        }
        Command::Finalize => Ok(json!({ "staged": ostree::finalize(host)? })),
        Command::Discard => Ok(json!({ "changed": ostree::discard(host).await? })),
        Command::Rollback { deployment } => {
            Ok(json!({ "changed": ostree::roll_back(host, &deployment).await? }))
        }
        Command::CleanUp { deployment } => answer(ostree::clean_up(host, &deployment).await?),
        Command::Prune => answer(ostree::prune(host).await?),
    }
}

async fn stage(
    host: &Host,
    arguments: ImageArguments,
    lock: bool,
    output: &mut File,
) -> Result<Value, Failure> {
    let image: Image = arguments.image.parse()?;
    let request = ostree::StageRequest {
        image,
        signed: arguments.signed,
        lock,
        kernel_arguments: None,
    };
    let mut report = |progress: Progress| print(output, &json!({ "progress": progress }));
    answer(ostree::stage(host, &request, &mut report).await?)
}

fn answer(value: impl serde::Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| Failure::other(error.to_string()))
}
