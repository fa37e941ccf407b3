use std::time::Duration;

use anyhow::anyhow;
use ostree_ext::container::store::{
    ImageImporter, ImportProgress, LayerProgress, LayeredImageState, PrepareResult, PreparedImport,
};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::deployments::drop_unused;
use crate::inspect::refusal;
use crate::skopeo::proxy_config;
use crate::{policy, Failure, Host, Image, Progress};

/// A pull ends when the registry sends nothing for this long.
const STALL: Duration = Duration::from_secs(300);
/// Between two reports of bytes.
const REPORT_EVERY: Duration = Duration::from_millis(250);
/// libostree stops writing when 3 % of the disk are left: below this share, the disk is the cause.
const FULL_PERCENT: u64 = 5;

/// Pulls an image into the repository of the host. Present layers are not pulled again, and an
/// interrupted pull keeps its finished layers.
///
/// When the disk is full, the pulled layers are dropped, because the kubelet needs the space.
/// `signed` = the signature policy applies, and its refusal is `ImageRefused`.
pub async fn pull(
    host: &Host,
    image: &Image,
    signed: bool,
    report: &mut dyn FnMut(Progress),
) -> Result<(Box<LayeredImageState>, Progress), Failure> {
    if signed {
        crate::skopeo::require_verification().await?;
    }
    match import(host, image, signed, report).await {
        Ok(pulled) => Ok(pulled),
        Err(error) if is_full(host)? => {
            let locked = host.lock().await?;
            drop_unused(&locked)?;
            let message = format!("no space left on the disk of the sysroot for {image}");
            Err(Failure::refused(format!(
                "{message}: {}",
                Failure::pull(&error)
            )))
        }
        Err(error) if signed => Err(refusal(image, &error).await),
        Err(error) => Err(Failure::pull(&error)),
    }
}

async fn import(
    host: &Host,
    image: &Image,
    signed: bool,
    report: &mut dyn FnMut(Progress),
) -> Result<(Box<LayeredImageState>, Progress), anyhow::Error> {
    let reference = image.reference(signed && policy::asks_by_default()?);
    let repo = host.sysroot.repo();
    let mut importer = ImageImporter::new(&repo, &reference, proxy_config()).await?;
    importer.require_bootable();
    let mut layers = importer.request_progress();
    let mut bytes = importer.request_layer_progress();
    let prepared = match importer.prepare().await? {
        PrepareResult::AlreadyPresent(state) => return Ok((state, Progress::default())),
        PrepareResult::Ready(prepared) => prepared,
    };
    let mut meter = Meter::new(&prepared);
    report(meter.progress());
    let work = importer.import(prepared);
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => {
                drain(&mut layers, &mut meter);
                report(meter.progress());
                return done.map(|state| (state, meter.progress()));
            }
            Some(event) = layers.recv() => if meter.layer(&event) { report(meter.progress()) },
            Ok(()) = bytes.changed() => if meter.bytes(&bytes) { report(meter.progress()) },
            () = tokio::time::sleep_until(meter.last_change + STALL) => {
                return Err(anyhow!("the registry sent nothing for {} s", STALL.as_secs()));
            }
        }
    }
}

fn drain(layers: &mut mpsc::Receiver<ImportProgress>, meter: &mut Meter) {
    while let Ok(event) = layers.try_recv() {
        meter.layer(&event);
    }
}

fn is_full(host: &Host) -> Result<bool, Failure> {
    let disk = rustix::fs::statvfs(&host.options.sysroot).map_err(std::io::Error::from)?;
    Ok(disk.f_bavail * 100 < disk.f_blocks * FULL_PERCENT)
}

/// Adds up the progress.
struct Meter {
    finished: Progress,
    /// Of the layer in progress.
    current: u64,
    last_change: Instant,
    last_report: Instant,
}

impl Meter {
    fn new(prepared: &PreparedImport) -> Self {
        let missing = || prepared.all_layers().filter(|layer| layer.commit.is_none());
        Self {
            finished: Progress {
                total_bytes: missing().map(|layer| layer.layer().size()).sum(),
                total_layers: missing().count() as u64,
                ..Progress::default()
            },
            current: 0,
            last_change: Instant::now(),
            last_report: Instant::now(),
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            bytes: self.finished.bytes + self.current,
            ..self.finished
        }
    }

    /// Returns whether to report it.
    fn layer(&mut self, event: &ImportProgress) -> bool {
        self.last_change = Instant::now();
        self.current = 0;
        match event {
            ImportProgress::OstreeChunkCompleted(layer)
            | ImportProgress::DerivedLayerCompleted(layer) => {
                self.finished.bytes += layer.size();
                self.finished.layers += 1;
                true
            }
            _ => false,
        }
    }

    /// Returns whether to report it.
    fn bytes(&mut self, layer: &watch::Receiver<Option<LayerProgress>>) -> bool {
        self.last_change = Instant::now();
        self.current = layer.borrow().as_ref().map_or(0, |layer| layer.fetched);
        let due = self.last_report.elapsed() >= REPORT_EVERY;
        if due {
            self.last_report = Instant::now();
        }
        due
    }
}
