//! The programs to measure: gamewire, and other programs that read captures.

use std::env;
use std::path::{Path, PathBuf};

use crate::bench::options::Options;

/// A program and its arguments before the name of a file.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Its name in the tables.
    pub(super) name: String,
    pub(super) path: PathBuf,
    before: Vec<String>,
    after: Vec<String>,
    /// Exit codes that mean success.
    pub(super) codes: &'static [i32],
}

impl Program {
    /// The program's arguments, for a file.
    pub(super) fn arguments(&self, file: &Path) -> Vec<std::ffi::OsString> {
        let before = self.before.iter().map(Into::into);
        before.chain([file.into()]).chain(self.after.iter().map(Into::into)).collect()
    }
}

/// The program that all others are compared with: it reads all bytes and processes none.
pub(super) fn cat() -> Option<Program> {
    peer("cat FILE > /dev/null", "cat", &[], &[])
}

/// The commands of gamewire's release build that are measured.
pub(super) fn gamewire(path: &Path, options: &Options) -> Vec<Program> {
    let reported = [
        &["dissect", "--format", "json"][..],
        &["check"],
        &["summary"],
        &["flows"],
        &["diagnose"],
        &["abuse"],
    ];
    let program = |words: &[&str]| {
        let mut name = format!("gamewire {}", words.join(" "));
        let mut before: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        if let Some(threads) = &options.threads {
            name += &format!(" --threads {threads}");
            before.extend(["--threads".to_owned(), threads.clone()]);
        }
        before.push("--no-config".to_owned());
        Program { name, path: path.to_owned(), before, after: Vec::new(), codes: &[0, 1] }
    };
    reported.map(program).into()
}

/// Other installed programs. None of them decodes these protocols, so they do less.
pub(super) fn peers(options: &Options) -> Vec<Program> {
    let (after, filter) = (["-w", "/dev/null"], "udp port 27015");
    let quick = [
        peer("capinfos -Mc", "capinfos", &["-Mc"], &[]),
        peer("tcpdump -w /dev/null", "tcpdump", &["-r"], &[after[0], after[1], filter]),
    ];
    let slow = [
        peer("ndpiReader -q", "ndpiReader", &["-q", "-i"], &[]),
        peer("tshark -nr", "tshark", &["-nr"], &[]),
    ];
    let slow = slow.into_iter().filter(|_| options.all_peers);
    quick.into_iter().chain(slow).flatten().collect()
}

/// A program in PATH.
fn peer(name: &str, program: &str, before: &[&str], after: &[&str]) -> Option<Program> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let (before, after) = (words(before), words(after));
    Some(Program { name: name.to_owned(), path: find(program)?, before, after, codes: &[0] })
}

/// The path of an installed program.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}
