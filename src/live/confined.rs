//! Opens what a capture writes, and gives up everything else.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::outputs::OutputPlace;
use super::privileges::{self, UserAccount};
use super::sandbox::{self, Confinement};
use super::write::{DeviceDescription, FileWriter};
use super::{CaptureRequest, FilePlan, LiveError, now};
use crate::capture::{Interrupt, was_interrupted};
use crate::output_file::{Target, folder};

/// The writer of a process that can do nothing but capture.
pub(super) struct Confined {
    pub(super) writer: Option<FileWriter>,
    pub(super) confinement: Confinement,
    /// Why there can be no other file than the first one.
    pub(super) no_further_file: Option<String>,
}

/// Opens the outputs, drops all privileges, and confines this thread to the outputs. A file that
/// exists stays as it is if this fails. `interrupt` ends the wait for the reader of a FIFO.
pub(super) fn open(
    request: &CaptureRequest,
    device: DeviceDescription,
    interrupt: &Interrupt,
) -> Result<Confined, LiveError> {
    let variable = |name: &str| std::env::var_os(name);
    let account = UserAccount::after_root(request.user.as_deref(), variable);
    let account = account.map_err(LiveError::Privileges)?;
    let later = request.later.iter().map(|output| output.open(account.as_ref()));
    let later = later.collect::<Result<Vec<_>, _>>()?;
    let open = |plan| CaptureOutput::open(plan, account.as_ref(), interrupt);
    let capture = request.write.as_ref().map(open);
    let capture = capture.transpose()?;
    privileges::drop_to(account.as_ref()).map_err(LiveError::Privileges)?;
    let refusal = |place: &OutputPlace| place.refusal(&account.as_ref()?.name);
    let folder = capture.as_ref().filter(|it| it.makes_files).map(|it| &*it.folder);
    let no_further_file = folder.and_then(refusal);
    let rotates = request.write.as_ref().is_some_and(FilePlan::rotates);
    let refused = later.iter().find_map(refusal);
    if let Some(refusal) = refused.or_else(|| no_further_file.clone().filter(|_| rotates)) {
        return Err(LiveError::Privileges(refusal));
    }
    let confinement = sandbox::confine(&folder.into_iter().chain(&later).collect::<Vec<_>>());
    let writer = capture.map(|capture| capture.writer(device)).transpose()?;
    Ok(Confined { writer, confinement, no_further_file })
}

/// Where packets are written.
struct CaptureOutput<'p> {
    plan: &'p FilePlan,
    folder: Arc<OutputPlace>,
    /// The only file: it may be where the unprivileged user may write nothing else. Its path, without
    /// symbolic links at the end.
    file: Option<(File, PathBuf)>,
    /// There may be other files in the folder. There are none beside a FIFO or a device.
    makes_files: bool,
}

impl CaptureOutput<'_> {
    fn open<'p>(
        plan: &'p FilePlan,
        account: Option<&UserAccount>,
        interrupt: &Interrupt,
    ) -> Result<CaptureOutput<'p>, LiveError> {
        let open = || {
            if plan.rotates() {
                let folder = Arc::new(OutputPlace::open(folder(&plan.path))?);
                return Ok(CaptureOutput { plan, folder, file: None, makes_files: true });
            }
            let target = Target::of(&plan.path)?;
            let folder = Arc::new(OutputPlace::open(folder(target.place()))?);
            let makes_files = matches!(target, Target::File(..));
            let (file, path) = match target {
                Target::Stream(stream) => (stream.open(interrupt)?, stream.place),
                Target::File(place, _) => {
                    let (file, is_new) = folder.create(&place)?;
                    if let Some(account) = account.filter(|_| is_new) {
                        // An error, as of a file system without owners, does not matter: the file is
                        // open.
                        account.own(&file).ok();
                    }
                    (file, place)
                }
            };
            Ok(CaptureOutput { plan, folder, file: Some((file, path)), makes_files })
        };
        open().map_err(|error: io::Error| match was_interrupted(&error) {
            true => LiveError::Interrupted,
            false => LiveError::Write { path: plan.path.clone(), error },
        })
    }

    fn writer(self, device: DeviceDescription) -> Result<FileWriter, LiveError> {
        let CaptureOutput { plan, folder, file, .. } = self;
        FileWriter::new(plan.clone(), folder, file, device, now())
            .map_err(|error| LiveError::Write { path: plan.path.clone(), error })
    }
}
