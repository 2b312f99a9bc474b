//! The handler repairs its own mappings, and leaves other signals to the previous handler.

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use memmap2::Mmap;

use super::super::input::Input;
use super::{Mapping, STRETCH, WINDOW};

/// Two pages.
const SIZE: usize = 8 << 10;

struct Shrinking {
    path: std::path::PathBuf,
    file: File,
}

impl Shrinking {
    fn new(name: &str) -> Shrinking {
        let name = format!("gamewire-mapping-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, [0xAA; SIZE]).expect("a temporary file");
        let file = OpenOptions::new().read(true).write(true).open(&path).expect("the file");
        Shrinking { path, file }
    }

    fn handle(&self) -> File {
        self.file.try_clone().expect("a handle")
    }
}

impl Drop for Shrinking {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

#[test]
fn a_page_that_vanishes_reads_as_zeros_and_is_reported() {
    let shrinking = Shrinking::new("vanishes");
    let mapping = Mapping::new(shrinking.handle()).expect("a mapping");
    assert_eq!(mapping.bytes()[SIZE - 1], 0xAA);
    assert!(!mapping.shrank() && !mapping.is_shorter());
    shrinking.file.set_len(0).expect("a shorter file");
    assert!(!mapping.shrank() && mapping.is_shorter());
    assert_eq!(mapping.bytes().iter().map(|byte| u32::from(*byte)).sum::<u32>(), 0);
    assert!(mapping.shrank() && mapping.is_shorter());
    // The next mapping at the same address is not marked.
    drop(mapping);
    let other = Shrinking::new("whole");
    let mapping = Mapping::new(other.handle()).expect("a mapping");
    assert!(!mapping.shrank());
}

#[test]
fn more_mappings_than_guards_are_refused_and_freed_ones_come_back() {
    let file = Shrinking::new("many");
    let mut mappings = Vec::new();
    while let Ok(mapping) = Mapping::new(file.handle()) {
        mappings.push(mapping);
        assert!(mappings.len() <= super::GUARDED);
    }
    drop(mappings);
    assert!(Mapping::new(file.handle()).is_ok());
}

/// Runs one test of this file in a child process.
fn in_a_process(test: &str) -> std::process::ExitStatus {
    Command::new(std::env::current_exe().expect("the tests"))
        .args(["--exact", &format!("capture::mapping::tests::{test}"), "--nocapture"])
        .env("GAMEWIRE_TEST_PROCESS", test)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the tests run")
}

fn is_that_process(test: &str) -> bool {
    std::env::var_os("GAMEWIRE_TEST_PROCESS").is_some_and(|process| process == test)
}

#[test]
fn other_mappings_fail_as_before() {
    const NAME: &str = "other_mappings_fail_as_before";
    if !is_that_process(NAME) {
        assert_eq!(in_a_process(NAME).signal(), Some(libc::SIGBUS));
        return;
    }
    let (ours, other) = (Shrinking::new("ours"), Shrinking::new("other"));
    let _mapping = Mapping::new(ours.handle()).expect("a mapping");
    // SAFETY: the test reads bytes only, and dies of it.
    let map = unsafe { Mmap::map(&other.file) }.expect("a mapping");
    other.file.set_len(0).expect("a shorter file");
    fs::remove_file(&ours.path).ok();
    fs::remove_file(&other.path).ok();
    std::hint::black_box(map[0]);
}

#[test]
fn a_signal_that_is_sent_kills_as_before() {
    const NAME: &str = "a_signal_that_is_sent_kills_as_before";
    if !is_that_process(NAME) {
        assert_eq!(in_a_process(NAME).signal(), Some(libc::SIGBUS));
        return;
    }
    let ours = Shrinking::new("signal");
    let _mapping = Mapping::new(ours.handle()).expect("a mapping");
    fs::remove_file(&ours.path).ok();
    // The handler before this one is the standard library's: a signal without a fault makes it put
    // the default action back, the next one kills.
    for _ in 0..2 {
        // SAFETY: the process is there to die of it.
        unsafe { libc::raise(libc::SIGBUS) };
    }
}

/// The number of resident pages of the mapping that contains this address.
#[cfg(target_os = "linux")]
fn resident(address: usize) -> usize {
    let maps = fs::read_to_string("/proc/self/smaps").expect("the process's mappings");
    let mut inside = false;
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some((start, end)) = first.split_once('-') {
            let number = |hex| usize::from_str_radix(hex, 16).expect("an address");
            inside = (number(start)..number(end)).contains(&address);
        } else if inside && first == "Rss:" {
            return words.next().and_then(|kilobytes| kilobytes.parse().ok()).expect("a number");
        }
    }
    panic!("the address is in no mapping");
}

#[cfg(target_os = "linux")]
#[test]
fn a_window_that_all_have_passed_is_given_back_and_can_be_read_again() {
    let shrinking = Shrinking::new("passed");
    let bytes: Vec<u8> = (0..2 * WINDOW as u32 / 4).flat_map(u32::to_le_bytes).collect();
    fs::write(&shrinking.path, &bytes).expect("a larger file");
    let mapping = Mapping::new(shrinking.handle()).expect("a mapping");
    mapping.add_reader();
    mapping.add_reader();
    assert!(mapping.bytes() == bytes);
    let address = mapping.bytes().as_ptr() as usize;
    let all = resident(address);
    assert!(all >= 2 * WINDOW / 1024, "{all} kB");
    mapping.pass(0);
    assert_eq!(resident(address), all, "one is still there");
    mapping.pass(0);
    assert_eq!(resident(address), all - WINDOW / 1024);
    assert!(mapping.bytes() == bytes);
    // A page that is not resident is not released.
    mapping.pass(2);
}

#[cfg(target_os = "linux")]
#[test]
fn of_several_readers_each_maps_some_stretches_ahead() {
    let shrinking = Shrinking::new("ahead");
    fs::write(&shrinking.path, vec![0xAA; 4 * STRETCH]).expect("a larger file");
    let mapping = Mapping::new(shrinking.handle()).expect("a mapping");
    let address = mapping.bytes().as_ptr() as usize;
    mapping.enter(0, 0);
    assert_eq!(resident(address), 0, "one alone maps none");
    assert_eq!([mapping.add_reader(), mapping.add_reader()], [0, 1]);
    mapping.enter(0, 0);
    assert_eq!(resident(address), 0, "the other's");
    mapping.enter(0, 1);
    let mapped = resident(address);
    assert!(mapped > 0);
    mapping.enter(3, 0);
    shrinking.file.set_len(0).expect("a shorter file");
    mapping.enter(1, 0);
    assert!(!mapping.shrank(), "what is gone is not touched");
}

#[cfg(target_os = "linux")]
#[test]
fn pages_that_were_read_are_given_back() {
    let shrinking = Shrinking::new("gone-on");
    fs::write(&shrinking.path, vec![0xAA; 3 * WINDOW]).expect("a larger file");
    let mut input = Input::mapped(Mapping::new(shrinking.handle()).expect("a mapping"));
    let address = input.unread().as_ptr() as usize;
    assert!(input.unread().iter().all(|&byte| byte == 0xAA));
    let all = resident(address);
    assert!(input.consume(WINDOW as u64));
    assert_eq!(resident(address), all - WINDOW / 1024);
    assert!(input.consume(WINDOW as u64));
    assert_eq!(resident(address), all - 2 * WINDOW / 1024);
}
