//! Options of `bench`.

use std::io;
use std::path::PathBuf;

use captures::bulk::Input;

pub(super) const USAGE: &str = "usage: cargo run --release -p xtask -- bench [OPTION...]
  --input NAME,...  use only these inputs: a2s, mixed, tcp, frag, manyflows
  --packets N       use at most N packets of each input
  --runs N          run each program N times, and report the fastest run (5)
  --threads N       number of threads of gamewire (its default)
  --dir DIR         generate captures in DIR/gamewire-bench, on a file system in memory (/dev/shm)
  --inputs DIR      use the existing DIR/a2s.pcap and so on, and generate none
  --keep            do not remove generated captures
  --peers-all       also run slow programs
  --callgrind       also count instructions and instruction cache misses (needs valgrind)
  --count           instead, only count these, of the release build, on 10,000 packets
  --grow            instead, measure A2S captures of 1, 2, 4 and 8 GB
  --corners         instead, measure captures for which quadratic algorithms would take too long
  --print           print the tables, and do not change docs/performance.md";

/// The options.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) inputs: Vec<Input>,
    pub(super) packets: Option<u64>,
    pub(super) runs: u32,
    pub(super) threads: Option<String>,
    pub(super) folder: PathBuf,
    pub(super) given: Option<PathBuf>,
    pub(super) keep: bool,
    pub(super) all_peers: bool,
    pub(super) callgrind: bool,
    pub(super) count: bool,
    pub(super) grow: bool,
    pub(super) corners: bool,
    pub(super) print: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[&str]) -> io::Result<Self> {
        let mut options = Self {
            inputs: Input::LARGE.to_vec(),
            packets: None,
            runs: 5,
            threads: None,
            folder: PathBuf::from("/dev/shm"),
            given: None,
            keep: false,
            all_peers: false,
            callgrind: false,
            count: false,
            grow: false,
            corners: false,
            print: false,
        };
        let mut arguments = arguments.iter().copied();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| wrong(argument));
            match argument {
                "--input" => options.inputs = inputs(value()?)?,
                "--packets" => options.packets = Some(number(value()?)?),
                "--runs" => options.runs = number(value()?)?,
                "--threads" => options.threads = Some(value()?.to_owned()),
                "--dir" => options.folder = value()?.into(),
                "--inputs" => options.given = Some(value()?.into()),
                "--keep" => options.keep = true,
                "--peers-all" => options.all_peers = true,
                "--callgrind" => options.callgrind = true,
                "--count" => options.count = true,
                "--grow" => options.grow = true,
                "--corners" => options.corners = true,
                "--print" => options.print = true,
                _ => return Err(wrong(argument)),
            }
        }
        options.folder.push("gamewire-bench");
        Ok(options)
    }

    /// The number of packets of an input.
    pub(super) fn packets(&self, input: Input) -> u64 {
        self.packets.map_or(input.packets(), |most| most.min(input.packets()))
    }

    /// Whether all cells of the tables are measured.
    pub(super) fn is_whole(&self) -> bool {
        self.packets.is_none() && self.inputs == Input::LARGE
    }
}

fn inputs(names: &str) -> io::Result<Vec<Input>> {
    let named = |name| Input::LARGE.into_iter().find(|input| input.name() == name);
    names.split(',').map(|name| named(name).ok_or_else(|| wrong(name))).collect()
}

/// A number above 0.
fn number<T: std::str::FromStr + Default + PartialEq>(text: &str) -> io::Result<T> {
    let number = text.replace('_', "").parse().ok().filter(|number| *number != T::default());
    number.ok_or_else(|| wrong(text))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("invalid argument `{what}`\n{USAGE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed_or_rejected() {
        let options = Options::parse(&["--input", "tcp,a2s", "--packets", "10_000"]).unwrap();
        assert_eq!(options.inputs, [Input::Tcp, Input::A2s]);
        assert_eq!(options.packets(Input::Tcp), 10_000);
        assert!(!options.is_whole());
        assert!(Options::parse(&["--callgrind"]).unwrap().is_whole());
        for wrong in [&["--input", "udp"][..], &["--runs", "0"], &["--runs"], &["fast"]] {
            let error = Options::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("--peers-all"), "{error}");
        }
    }
}
