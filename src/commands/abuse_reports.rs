//! `abuse --report`: writes files for the operators of attacking networks. Nothing is sent.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::abuse::{Abuse, Attack};
use crate::commands::Failure;
use crate::commands::outputs::refuse_dash;
use crate::live::LaterOutput;
use crate::output_file::OutputFile;
use crate::report::abuse_report::{self, Reporter};
use crate::text::{counted, escaped};

/// Maximum number of reported networks per attack, the busiest first.
const NETWORKS: usize = 256;

/// Maximum number of reported sources per network.
const SOURCES: usize = 64;

/// The folder of reports, and counts of them.
pub(super) struct AttackReports {
    folder: PathBuf,
    /// The folder was made.
    is_new: bool,
    reporter: Reporter,
    /// Number of attacks in all captures so far.
    attacks: usize,
    written: u64,
    /// Notes for the end of the output.
    notes: Vec<String>,
}

impl AttackReports {
    /// Into a folder that is new, or empty.
    ///
    /// # Errors
    /// It cannot be made, or there is something in it.
    pub(super) fn into_folder(
        folder: &Path,
        reporter: &Reporter,
    ) -> Result<AttackReports, Failure> {
        let failed = |why: String| {
            let name = folder.to_string_lossy();
            Failure::Other(format!("--report {}: {why}", escaped(&name)))
        };
        refuse_dash(folder, "--report", "there are several files; name a folder")?;
        let created = fs::create_dir(folder);
        let is_new = created.is_ok();
        match created {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut entries =
                    fs::read_dir(folder).map_err(|error| failed(error.to_string()))?;
                if entries.next().is_some() {
                    return Err(failed("it is not empty; name a new folder".to_owned()));
                }
            }
            Err(error) => return Err(failed(crate::why::unwritable(&error).into_owned())),
        }
        Ok(AttackReports {
            folder: folder.to_owned(),
            is_new,
            reporter: reporter.clone(),
            attacks: 0,
            written: 0,
            notes: Vec::new(),
        })
    }

    /// Where the reports are written.
    pub(super) fn output(&self) -> LaterOutput {
        LaterOutput::Folder { path: self.folder.clone(), is_new: self.is_new }
    }

    /// Writes the reports about a capture's attacks.
    pub(super) fn write(&mut self, attacks: &[Attack], abuse: &Abuse) -> io::Result<()> {
        for attack in attacks {
            self.attacks += 1;
            let reported = abuse.reported(attack);
            let title =
                format!("attack {} ({}, {})", self.attacks, attack.kind.name(), attack.target);
            if reported.is_empty() {
                self.notes.push(format!("{title}: {}", abuse_report::why_not(attack)));
                continue;
            }
            let networks = abuse_report::networks(attack.kind, &reported);
            let more = networks.len().saturating_sub(NETWORKS);
            if more > 0 {
                let networks = counted(more as u64, "network");
                self.notes.push(format!("{title}: {networks} that sent less are not reported"));
            }
            for mut network in networks.into_iter().take(NETWORKS) {
                network.senders.truncate(SOURCES);
                let mail = abuse_report::mail(attack, &network, &self.reporter);
                self.file(&network.name, "txt", mail.as_bytes())?;
                for (from, sender) in &network.senders {
                    let xarf = abuse_report::xarf(attack, *from, sender, &self.reporter);
                    self.file(&from.to_string(), "xarf.json", &xarf)?;
                }
                self.written += 1;
            }
        }
        let left_out = abuse.senders().map_or(0, |senders| senders.left_out);
        if left_out > 0 {
            let packets = counted(left_out, "packet");
            self.notes
                .push(format!("sources of {packets} and less were left out: there were too many"));
        }
        Ok(())
    }

    /// Creates a new file: names consist of addresses.
    fn file(&self, name: &str, ending: &str, bytes: &[u8]) -> io::Result<()> {
        let name = name.replace(':', "-").replace('/', "_");
        let path = self.folder.join(format!("attack{}-{name}.{ending}", self.attacks));
        // Written only: a live capture has no right to read.
        let written = OutputFile::create_new(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.put()
        });
        written.map_err(|error| {
            let why = crate::why::unwritable(&error);
            io::Error::new(error.kind(), format!("{}: {why}", escaped(&path.to_string_lossy())))
        })
    }

    /// Whether no attack was seen.
    pub(super) fn is_empty(&self) -> bool {
        self.attacks == 0
    }

    /// Reports what was written and what was left out.
    pub(super) fn say(&self, err: &mut dyn Write) {
        for note in &self.notes {
            writeln!(err, "gamewire: {note}").ok();
        }
        let (reports, folder) = (counted(self.written, "report"), self.folder.to_string_lossy());
        writeln!(err, "gamewire: wrote {reports} to {}; nothing is sent", escaped(&folder)).ok();
    }
}
