//! The information about all files that all processes need.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;

use dissectors::kit::Time;
use roaring::RoaringBitmap;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::Survey;
use super::pair::pair;
use crate::session::{Partition, PortPackets, Totals, joined_spans};
use crate::text::escaped;

/// All processes must be of one version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version that wrote a plan: only the same one reads it.
fn version<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let version = String::deserialize(from)?;
    if version == VERSION { Ok(version) } else { Err(D::Error::custom("another version")) }
}

/// The end of a capture.
pub(super) struct PlanEnd {
    /// The number of packets.
    pub(super) packets: u64,
    /// The time of the last one.
    pub(super) time: Time,
    /// Number of digits of a second in its time.
    pub(super) digits: u8,
}

/// The information for all processes: the files, and the pairs of hosts that may use a supported protocol.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The first field, because the rest can be read only by the same version.
    #[serde(deserialize_with = "version")]
    version: String,
    /// Partitions of all pairs of hosts.
    pub partitions: usize,
    /// The files, in the order in which they are merged where times are the same.
    pub paths: Vec<String>,
    /// The surveys of the files, without the pairs of hosts, which are combined.
    surveys: Vec<Survey>,
    speaking: RoaringBitmap,
    tunnels: RoaringBitmap,
    all_speak: bool,
    /// Hosts whose datagrams may have been recorded before and behind NAT, by their addresses.
    translated: BTreeSet<IpAddr>,
    /// Packets by port.
    foreign: PortPackets,
}

/// The position of a file's packets among those of all files.
pub(super) struct FilePosition {
    /// Packets of the files before it.
    pub(super) before: u64,
    /// The time of the last of these.
    pub(super) time: Time,
    /// The indices of the files that were recorded at the same time, including itself.
    pub(super) beside: Vec<usize>,
}

impl Plan {
    /// A plan for these files with their surveys.
    pub fn new(files: Vec<(String, Survey)>, partitions: usize) -> Plan {
        let mut plan = Plan {
            version: VERSION.to_owned(),
            partitions: partitions.max(1),
            paths: Vec::new(),
            surveys: Vec::new(),
            speaking: RoaringBitmap::new(),
            tunnels: RoaringBitmap::new(),
            all_speak: false,
            translated: BTreeSet::new(),
            foreign: PortPackets::default(),
        };
        for (path, mut survey) in files {
            plan.speaking |= std::mem::take(&mut survey.speaking);
            plan.tunnels |= std::mem::take(&mut survey.tunnels);
            plan.all_speak |= survey.all_speak;
            plan.translated.append(&mut survey.translated);
            plan.foreign.add(&std::mem::take(&mut survey.foreign));
            plan.paths.push(path);
            plan.surveys.push(survey);
        }
        plan
    }

    /// The names of the files, as they are shown.
    pub fn names(&self) -> Vec<String> {
        self.paths.iter().map(|path| escaped(path).into_owned()).collect()
    }

    /// Texts about faults of the recordings.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.surveys.iter().flat_map(|survey| &survey.warnings).map(String::as_str)
    }

    /// A file as it is opened.
    pub(super) fn path(&self, file: usize) -> PathBuf {
        self.paths.get(file).map(PathBuf::from).unwrap_or_default()
    }

    /// Packets and notices of a file.
    pub(super) fn events(&self, file: usize) -> u64 {
        self.surveys.get(file).map_or(0, |survey| survey.events)
    }

    /// Whether two hosts may use a supported protocol.
    #[inline]
    pub(super) fn speak(&self, [a, b]: [IpAddr; 2]) -> bool {
        self.all_speak || self.speaking.contains(pair(a, b))
    }

    /// Whether fragments between two hosts may belong to tunnels.
    pub(super) fn tunnel(&self, a: IpAddr, b: IpAddr) -> bool {
        self.tunnels.contains(pair(a, b))
    }

    /// Whether the datagrams of one of two hosts may have been recorded before and behind NAT: what they are copies of may be
    /// in other partitions, so that each needs them. With too many such hosts, all may be.
    #[inline]
    pub(super) fn are_translated(&self, hosts: [IpAddr; 2]) -> bool {
        !self.translated.is_empty()
            && (self.translated.len() >= Survey::TRANSLATED
                || hosts.iter().any(|host| self.translated.contains(host)))
    }

    /// The partition of two hosts.
    pub(super) fn partition_of(&self, [a, b]: [IpAddr; 2]) -> usize {
        Partition::of(a, b, self.partitions)
    }

    /// Where a file is among all.
    pub(super) fn place(&self, file: usize) -> Option<FilePosition> {
        let [first, last] = self.surveys.get(file)?.place?;
        let mut place = FilePosition { before: 0, time: Time(i64::MIN), beside: Vec::new() };
        let mut latest = None;
        for (other, survey) in self.surveys.iter().enumerate() {
            let Some([begins, ends]) = survey.place else { continue };
            if ends < first {
                place.before += survey.packets;
                latest = latest.max(survey.last.map(|(at, time)| (at, other, time)));
            } else if begins <= last {
                place.beside.push(other);
            }
        }
        if let Some((.., time)) = latest {
            place.time = Time(time);
        }
        Some(place)
    }

    /// Where the capture ends.
    pub(super) fn end(&self) -> PlanEnd {
        let packets = self.surveys.iter().map(|survey| survey.packets).sum();
        let lasts = self.surveys.iter().enumerate();
        let last = lasts.filter_map(|(at, it)| Some((it.last?.0, at, it.last?.1, it.digits))).max();
        let (time, digits) = last.map_or((i64::MIN, 6), |(.., time, digits)| (time, digits));
        PlanEnd { packets, time: Time(time), digits }
    }

    /// Adds the totals that do not depend on messages.
    pub(super) fn complete(&self, totals: &mut Totals) {
        PlanEnd { packets: totals.packets, digits: totals.digits, .. } = self.end();
        // Partitions count only their own packets.
        (totals.bytes, totals.unknown_links, totals.unread) = Default::default();
        for survey in &self.surveys {
            totals.bytes += survey.bytes;
            totals.links.add(&survey.links);
            totals.span = joined_spans(totals.span, survey.span.map(|span| span.map(Time)));
            totals.unknown_links += survey.unknown_links.0;
            totals.unknown_link = totals.unknown_link.or(survey.unknown_links.1);
            totals.unread.iter_mut().zip(&survey.unread).for_each(|(all, more)| *all += more);
        }
        // Used if there is no supported traffic.
        totals.foreign =
            if totals.flows > 0 { PortPackets::default() } else { self.foreign.clone() };
    }
}
