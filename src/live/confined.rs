//! Opens what a capture writes, and gives up everything else.

use std::fs::File;
use std::sync::Arc;

use super::outputs::{OutputPlace, folder};
use super::privileges::{self, UserAccount};
use super::sandbox::{self, Confinement};
use super::write::{DeviceDescription, FileWriter};
use super::{CaptureRequest, FilePlan, LiveError, now};

/// The writer of a process that can do nothing but capture.
pub(super) struct Confined {
    pub(super) writer: Option<FileWriter>,
    pub(super) confinement: Confinement,
    /// Why there can be no other file than the first one.
    pub(super) no_further_file: Option<String>,
}

/// Opens the outputs, drops all privileges, and confines this thread to the outputs. A file that
/// exists stays as it is if this fails.
pub(super) fn open(
    request: &CaptureRequest,
    device: DeviceDescription,
) -> Result<Confined, LiveError> {
    let variable = |name: &str| std::env::var_os(name);
    let account = UserAccount::after_root(request.user.as_deref(), variable);
    let account = account.map_err(LiveError::Privileges)?;
    let later = request.later.iter().map(|output| output.open(account.as_ref()));
    let later = later.collect::<Result<Vec<_>, _>>()?;
    let capture = request.write.as_ref().map(|plan| CaptureOutput::open(plan, account.as_ref()));
    let capture = capture.transpose()?;
    privileges::drop_to(account.as_ref()).map_err(LiveError::Privileges)?;
    let refusal = |place: &OutputPlace| place.refusal(&account.as_ref()?.name);
    let no_further_file = capture.as_ref().and_then(|capture| refusal(&capture.folder));
    let rotates = request.write.as_ref().is_some_and(FilePlan::rotates);
    let refused = later.iter().find_map(refusal);
    if let Some(refusal) = refused.or_else(|| no_further_file.clone().filter(|_| rotates)) {
        return Err(LiveError::Privileges(refusal));
    }
    let folder = capture.as_ref().map(|capture| &*capture.folder);
    let confinement = sandbox::confine(&folder.into_iter().chain(&later).collect::<Vec<_>>());
    let writer = capture.map(|capture| capture.writer(device)).transpose()?;
    Ok(Confined { writer, confinement, no_further_file })
}

/// Where packets are written.
struct CaptureOutput<'p> {
    plan: &'p FilePlan,
    folder: Arc<OutputPlace>,
    /// The only file: it may be where the unprivileged user may write nothing else.
    file: Option<File>,
}

impl CaptureOutput<'_> {
    fn open<'p>(
        plan: &'p FilePlan,
        account: Option<&UserAccount>,
    ) -> Result<CaptureOutput<'p>, LiveError> {
        let open = || {
            let folder = Arc::new(OutputPlace::open(folder(&plan.path))?);
            if plan.rotates() {
                return Ok(CaptureOutput { plan, folder, file: None });
            }
            let (file, is_new) = folder.create(&plan.path)?;
            if let Some(account) = account.filter(|_| is_new) {
                // An error, as of a file system without owners, does not matter: the file is open.
                account.own(&file).ok();
            }
            Ok(CaptureOutput { plan, folder, file: Some(file) })
        };
        open().map_err(|error| LiveError::Write { path: plan.path.clone(), error })
    }

    fn writer(self, device: DeviceDescription) -> Result<FileWriter, LiveError> {
        let CaptureOutput { plan, folder, file } = self;
        FileWriter::new(plan.clone(), folder, file, device, now())
            .map_err(|error| LiveError::Write { path: plan.path.clone(), error })
    }
}
