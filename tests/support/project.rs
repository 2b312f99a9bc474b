//! The folder of a project that uses gamewire: captures, a configuration, a baseline.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use captures::exchange::{Setting, capture};

use super::Run;
use crate::support;

/// The folder is removed on drop.
pub(crate) struct Project(PathBuf);

impl Project {
    pub(crate) fn new(name: &str) -> Project {
        let folder = format!("gamewire-project-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        Project(folder)
    }

    /// A folder for a capture with these bytes, and the path of the capture.
    pub(crate) fn of_capture(bytes: impl AsRef<[u8]>) -> (Project, String) {
        static CAPTURES: AtomicUsize = AtomicUsize::new(0);
        let number = CAPTURES.fetch_add(1, Ordering::Relaxed);
        let project = Project::new(&format!("capture-{number}"));
        project.write("capture.pcap", bytes);
        let path = project.path("capture.pcap");
        (project, path)
    }

    /// The same for an exchange that is played into a capture.
    pub(crate) fn of_script(script: &str, setting: &Setting) -> (Project, String) {
        Project::of_capture(capture(script, setting).expect("a good script").pcap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), bytes).expect("a writable folder");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect("a readable file")
    }

    /// The names of its files.
    pub(crate) fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.0).expect("a readable folder");
        let name = |file: std::fs::DirEntry| file.file_name().to_string_lossy().into_owned();
        let mut names: Vec<_> = files.map(|file| name(file.expect("a file"))).collect();
        names.sort();
        names
    }

    /// Plays an exchange into a capture.
    pub(crate) fn play(&self, name: &str, setting: &Setting, script: &str) {
        self.write(name, capture(script, setting).expect("a good script").pcap());
    }

    /// Runs a command in this process, with the project's configuration. Arguments with a file extension
    /// are files of the project.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        support::gamewire(args.iter().map(|arg| self.argument(arg)))
    }

    fn argument(&self, arg: &str) -> String {
        let is_file = [".pcap", ".toml", ".json"].iter().any(|end| arg.ends_with(end));
        if is_file { self.path(arg) } else { arg.to_owned() }
    }

    /// Runs the program itself, in this folder or in one below it.
    pub(crate) fn spawn<A: AsRef<OsStr>>(&self, below: &str, args: &[A]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
        let folder = self.0.join(below);
        std::fs::create_dir_all(&folder).expect("a writable folder");
        command.current_dir(folder).args(args).output().expect("the program runs")
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
