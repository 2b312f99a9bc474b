//! All limits that users can set: their names and values.
//!
//! Each limit is enforced by the module of the limited data; reaching one is reported as NET011.

#[cfg(feature = "program")]
use std::fmt::Write;
use std::sync::LazyLock;

use dissectors::kit::{self, NamedLimit, Tree};
use dissectors::limits;

use crate::net::limits::FragmentLimits;
use crate::net::tcp::StreamLimits;
use crate::session::Options;

limits! {
    /// The limits of a run.
    pub struct RunLimits {
        flows "flows": count >= 1, = Options::default().flows,
            "flows tracked at a time; the one that has been silent longest is evicted";
        flow_bytes "flow-bytes": bytes >= 1 << 12, = Options::default().flow_bytes,
            "memory of tracked flows; the one that has been silent longest is evicted";
        fragment_bytes "fragment-bytes": bytes >= FragmentLimits::LEAST, = FragmentLimits::default().source,
            "incomplete IP fragments from one source; its oldest datagram is dropped";
        fragments_bytes "fragments-bytes": bytes >= FragmentLimits::LEAST, = FragmentLimits::default().total,
            "incomplete IP fragments in total; the oldest datagram is dropped";
        stream_bytes "stream-bytes": bytes >= 1 << 10, = StreamLimits::default().stream,
            "unread and out-of-order bytes of one direction of a TCP connection; they are read \
             without the missing bytes, or dropped";
        streams_bytes "streams-bytes": bytes >= 1 << 10, = StreamLimits::default().total,
            "the same for all TCP connections together";
        fields "fields": count >= 1, = Tree::MOST,
            "fields of one message that are shown; the remaining bytes are one field";
        depth "depth": count >= 4, = Tree::DEEPEST,
            "nested groups of fields, in JSON and text; deeper fields are shown at this depth";
        + /// The limits of the state of protocols.
            protocols: kit::Limits = kit::Limits::default();
    }
}

/// What users see of a limit.
#[derive(Clone, Copy, Debug)]
pub struct LimitOfRun {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// What it bounds, and what happens when it is reached.
    pub bounds: &'static str,
    is_bytes: bool,
    least: usize,
    place: LimitPlace,
}

/// Whose limit it is.
#[derive(Clone, Copy, Debug)]
enum LimitPlace {
    OfRun(fn(&mut RunLimits) -> &mut usize),
    OfProtocols(fn(&mut kit::Limits) -> &mut usize),
}

/// All limits.
pub fn all() -> impl Iterator<Item = LimitOfRun> {
    let of_run = RunLimits::NAMED.iter().map(|it| LimitOfRun::of(it, LimitPlace::OfRun(it.place)));
    let of_protocols = kit::Limits::NAMED.iter();
    of_run.chain(of_protocols.map(|it| LimitOfRun::of(it, LimitPlace::OfProtocols(it.place))))
}

impl LimitOfRun {
    fn of<T>(limit: &NamedLimit<T>, place: LimitPlace) -> LimitOfRun {
        let NamedLimit { name, bounds, is_bytes, least, .. } = *limit;
        LimitOfRun { name, bounds, is_bytes, least, place }
    }

    fn value<'a>(&self, limits: &'a mut RunLimits) -> &'a mut usize {
        match self.place {
            LimitPlace::OfRun(place) => place(limits),
            LimitPlace::OfProtocols(place) => place(&mut limits.protocols),
        }
    }

    /// The default value in the syntax of the command line.
    pub fn default(&self) -> String {
        let value = *self.value(&mut RunLimits::default());
        match value {
            value if self.is_bytes && value >= 1 << 20 && value.is_multiple_of(1 << 20) => {
                format!("{}M", value >> 20)
            }
            value if self.is_bytes && value.is_multiple_of(1 << 10) => format!("{}K", value >> 10),
            value => value.to_string(),
        }
    }
}

/// The table of docs/limits.md.
#[cfg(feature = "program")]
pub fn markdown(out: &mut String) {
    out.push_str("| name | default | bounds |\n|---|---|---|\n");
    for limit in all() {
        let _ = writeln!(out, "| `{}` | {} | {} |", limit.name, limit.default(), limit.bounds);
    }
}

/// Maximum memory of a run in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(usize);

impl Memory {
    /// The default, if the machine has four times as much.
    pub const USUAL: Memory = Memory(1 << 30);

    /// Minimum value, which is needed to track flows.
    const LEAST: usize = 16 << 20;

    /// The part for decompressing captures, in bytes.
    pub const fn unpacking(self) -> usize {
        self.0 / 2
    }

    /// The part for packets that wait to be written, in bytes.
    pub const fn waiting(self) -> usize {
        self.0 / 4
    }
}

impl Default for Memory {
    /// A quarter of the machine's memory, or [`USUAL`](Memory::USUAL) if that is less.
    fn default() -> Memory {
        static INSTALLED: LazyLock<Option<usize>> = LazyLock::new(installed);
        let quarter = INSTALLED.map_or(usize::MAX, |bytes| bytes / 4);
        Memory(Memory::USUAL.0.min(quarter.max(Memory::LEAST)))
    }
}

/// The machine's memory, or the limit of this process, if the system reports it.
fn installed() -> Option<usize> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        number(line.trim().strip_suffix("kB")?)?.checked_mul(1024)
    });
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.as_deref().and_then(number);
    machine.into_iter().chain(group).min()
}

impl std::str::FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Memory, String> {
        let bytes = number_of(text).ok_or("write a number of bytes, such as 512M or 2G")?;
        if bytes < Memory::LEAST {
            return Err(format!("the minimum is {}M", Memory::LEAST >> 20));
        }
        Ok(Memory(bytes))
    }
}

/// The value of a limit: `NAME=N`, where N may have the suffix K, M or G.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    limit: LimitOfRun,
    value: usize,
}

impl std::str::FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Setting, String> {
        let (name, number) =
            text.split_once('=').ok_or("write it as NAME=N, such as flows=1000")?;
        let limit = all().find(|limit| limit.name == name).ok_or_else(|| {
            let names: Vec<_> = all().map(|limit| limit.name).collect();
            format!("there is no limit `{name}`; valid names are {}", names.join(", "))
        })?;
        let value = number_of(number).ok_or("write a whole number, such as 1000, 64K or 2M")?;
        if value < limit.least {
            return Err(format!("{name} must be at least {}", limit.least));
        }
        Ok(Setting { limit, value })
    }
}

fn number_of(text: &str) -> Option<usize> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (text.get(..text.len() - 1)?, 10),
        b'M' | b'm' => (text.get(..text.len() - 1)?, 20),
        b'G' | b'g' => (text.get(..text.len() - 1)?, 30),
        _ => (text, 0),
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift)
}

impl RunLimits {
    /// The limits for this amount of memory, and those that were set.
    pub fn with(memory: Memory, settings: &[Setting]) -> RunLimits {
        let mut limits = RunLimits::within(memory);
        for setting in settings {
            *setting.limit.value(&mut limits) = setting.value;
        }
        limits
    }

    /// The limits for this amount of memory. Half of it is for flows; state outside of flows takes up to
    /// 500 bytes for each item, if an attacker causes all kinds.
    fn within(Memory(memory): Memory) -> RunLimits {
        let mut limits = RunLimits { flow_bytes: memory / 2, ..RunLimits::default() };
        limits.protocols.remembered = (memory / 2048).max(1);
        limits.streams_bytes = limits.streams_bytes.min((memory / 8).max(1 << 20));
        for bytes in [&mut limits.fragments_bytes, &mut limits.protocols.unfinished_bytes] {
            *bytes = (*bytes).min((memory / 64).max(FragmentLimits::LEAST));
        }
        limits.fragment_bytes = limits.fragment_bytes.min(limits.fragments_bytes);
        limits.stream_bytes = limits.stream_bytes.min(limits.streams_bytes);
        limits
    }

    /// The memory for finding attacks: as much in all commands that name them, so that they name the same.
    pub fn attack_bytes(&self) -> usize {
        self.flow_bytes / 4
    }

    /// Options of a session with those limits that concern it.
    pub fn options(&self, options: Options) -> Options {
        let mut options = Options {
            flows: self.flows,
            flow_bytes: self.flow_bytes,
            fragments: FragmentLimits {
                source: self.fragment_bytes,
                total: self.fragments_bytes,
                ..options.fragments
            },
            streams: StreamLimits {
                stream: self.stream_bytes,
                total: self.streams_bytes,
                ..options.streams
            },
            ..options
        };
        options.settings.limits = self.protocols;
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_units() {
        let set = |text: &str| text.parse::<Setting>();
        let limits =
            RunLimits::with(Memory::USUAL, &[set("flows=7").unwrap(), set("inflated=3K").unwrap()]);
        assert_eq!((limits.flows, limits.protocols.inflated), (7, 3072));
        assert_eq!(RunLimits::with(Memory::USUAL, &[]), RunLimits::default());
        for wrong in ["flows", "flows=", "flows=x", "flows=0", "fragment-bytes=1K", "flow=3"] {
            assert!(set(wrong).is_err(), "{wrong}");
        }
        assert!(set("flows=99999999999999999999").is_err() && set("flows=17179869184G").is_err());
    }

    #[test]
    fn defaults_have_the_syntax_of_the_command_line() {
        for limit in all() {
            let text = format!("{}={}", limit.name, limit.default());
            let setting: Setting = text.parse().unwrap();
            assert_eq!(RunLimits::with(Memory::USUAL, &[setting]), RunLimits::default(), "{text}");
        }
    }
}
