//! Sends the packets of a file to partitions.

use std::net::IpAddr;
use std::sync::Arc;

use dissectors::kit::Time;

use super::plan::Plan;
use super::row::{FileRun, PartitionRow, RowKind};
use super::survey::outcome_of;
use super::to_bytes;
use crate::capture::{self, CaptureError, Event, Packet, Packets};
use crate::net::Outcome;
use crate::session::{OtherHosts, Partition};

/// Number of stored runs at which rows are written.
const RUNS: usize = 1 << 12;

/// Number of groups of hosts, as in a session.
const GROUPS: usize = 8;

/// Reads a file and passes each packet that may matter to its partition.
///
/// Packets have their numbers among those of all files. Files that were recorded at the same time
/// are therefore read along, but not decoded.
pub struct Route {
    plan: Arc<Plan>,
    packets: Option<Box<dyn Packets + Send>>,
    /// Its index among all files, and among those that are read along.
    file: u32,
    own: usize,
    beside: Vec<usize>,
    /// The latest packet's number, its time, and its file, if any.
    frame: u64,
    time: Time,
    previous: Option<u32>,
    /// Of its own: the position of the latest event in the merged order, packets, and remaining
    /// events.
    place: i64,
    number: u64,
    left: u64,
    /// A packet of it was cut before its hosts could be determined.
    was_snapped: bool,
    begun: bool,
    leaves: Leaves,
}

/// Information about packets that are not kept.
struct Leaves {
    heard: [OtherHosts; GROUPS],
    /// Runs of packets of this file, with their numbers in it.
    runs: Vec<FileRun>,
    /// The partitions of the current packet.
    partitions: Vec<u32>,
}

impl Route {
    /// Opens a file of the plan.
    ///
    /// # Errors
    /// It cannot be read, or one that was recorded at the same time.
    pub fn new(plan: Arc<Plan>, file: usize, memory: usize) -> Result<Route, CaptureError> {
        let place = plan.place(file);
        let beside = place.as_ref().map_or(Vec::new(), |place| place.beside.clone());
        let paths = Vec::from_iter(beside.iter().map(|&file| plan.path(file)));
        let packets = match paths.is_empty() {
            true => None,
            false => Some(capture::open_merged(&paths, memory)?),
        };
        Ok(Route {
            own: beside.iter().position(|&other| other == file).unwrap_or(0),
            left: plan.events(file),
            file: u32::try_from(file).unwrap_or(u32::MAX),
            frame: place.as_ref().map_or(0, |place| place.before),
            time: place.map_or(Time(i64::MIN), |place| place.time),
            plan,
            packets,
            beside,
            previous: None,
            place: i64::MIN,
            number: 0,
            was_snapped: false,
            begun: false,
            leaves: Leaves {
                heard: std::array::from_fn(|_| OtherHosts::default()),
                runs: Vec::new(),
                partitions: Vec::new(),
            },
        })
    }

    /// Reads the next packet or notice, and calls `each` with its rows. `false` at the end.
    pub fn next(&mut self, each: &mut dyn FnMut(&PartitionRow<'_>)) -> bool {
        if !self.begun {
            self.begun = true;
            // Only the first file does this.
            let partitions = if self.file == 0 { self.plan.partitions } else { 0 };
            for partition in 0..partitions as u32 {
                each(&PartitionRow::beside(RowKind::Begins, partition, self.file, &[]));
            }
        }
        if !self.step(each) {
            self.end(each);
            return false;
        }
        if self.leaves.runs.len() >= RUNS {
            self.runs(each);
        }
        true
    }

    fn step(&mut self, each: &mut dyn FnMut(&PartitionRow<'_>)) -> bool {
        let (Some(packets), 1..) = (&mut self.packets, self.left) else { return false };
        let Some(time) = packets.advance() else { return false };
        match packets.current() {
            Event::Packet(packet) => {
                self.frame += 1;
                self.time = Time(packet.time);
                // The only open file has no number.
                let is_own = self.beside.len() == 1 || packet.file as usize == self.own;
                let file = match is_own {
                    true => self.file,
                    false => {
                        self.beside.get(packet.file as usize).map_or(u32::MAX, |&it| it as u32)
                    }
                };
                let before = self.previous.replace(file);
                if is_own {
                    self.left -= 1;
                    self.place = self.place.max(time);
                    self.number += 1;
                    let packet = Packet { number: self.number, ..packet };
                    if before != Some(file) {
                        self.leaves.runs.push((self.frame, file, self.number));
                    }
                    self.leaves.choose(&self.plan, &packet, &mut self.was_snapped);
                    for &partition in &self.leaves.partitions {
                        each(&PartitionRow::of_packet(&packet, self.frame, file, partition));
                    }
                }
            }
            Event::Notice(notice) => {
                if packets.file() as usize == self.own || self.beside.len() == 1 {
                    self.left -= 1;
                    self.place = self.place.max(time);
                    // Of several between two packets, the first has the largest number of remaining
                    // events.
                    let (data, number) = (to_bytes(&(self.time, notice)), u64::MAX / 2 - self.left);
                    for partition in 0..self.plan.partitions as u32 {
                        let row =
                            PartitionRow::beside(RowKind::Notice, partition, self.file, &data);
                        each(&PartitionRow { frame: self.frame, time: self.place, number, ..row });
                    }
                }
            }
        }
        true
    }

    fn runs(&mut self, each: &mut dyn FnMut(&PartitionRow<'_>)) {
        let data = to_bytes(&std::mem::take(&mut self.leaves.runs));
        each(&PartitionRow::beside(RowKind::Files, 0, self.file, &data));
    }

    fn end(&mut self, each: &mut dyn FnMut(&PartitionRow<'_>)) {
        if !self.leaves.runs.is_empty() {
            self.runs(each);
        }
        for heard in std::mem::take(&mut self.leaves.heard) {
            let data = to_bytes(&heard);
            each(&PartitionRow::beside(RowKind::Heard, 0, self.file, &data));
        }
        self.packets = None;
        self.left = 0;
    }
}

impl Leaves {
    /// The partitions of a packet; of one without, the hosts that it shows.
    fn choose(&mut self, plan: &Plan, packet: &Packet<'_>, was_snapped: &mut bool) {
        self.partitions.clear();
        let all = 0..plan.partitions as u32;
        outcome_of(packet).each(&mut |outcome| match &outcome {
            Outcome::Fragment(fragment) => {
                let (a, b) = (fragment.ip.source, fragment.ip.destination);
                if fragment.may_be_tunnel() || plan.tunnel(a, b) || plan.are_translated([a, b]) {
                    self.partitions.extend(all.clone());
                } else {
                    self.partitions.push(plan.partition_of([a, b]) as u32);
                }
            }
            // From the first one on, packets between unknown hosts are missing.
            Outcome::Snapped if !std::mem::replace(was_snapped, true) => {
                self.partitions.extend(all.clone());
            }
            Outcome::Snapped | Outcome::Malformed(_) => self.partitions.push(0),
            outcome => {
                let Some(hosts) = outcome.hosts() else { return };
                let (sender, note) = match outcome {
                    Outcome::Udp(datagram) => (datagram.ip.source, datagram.note),
                    Outcome::Tcp(segment) => (segment.ip.source, segment.note),
                    Outcome::Icmp(error) => (error.ip.source, None),
                    Outcome::OtherIcmp(icmp) => (icmp.ip.source, None),
                    _ => return,
                };
                if plan.speak(hosts) && plan.are_translated(hosts) {
                    self.partitions.extend(all.clone());
                } else if plan.speak(hosts) || note.is_some() {
                    self.partitions.push(plan.partition_of(hosts) as u32);
                } else {
                    self.see_host(sender, hosts);
                }
            }
        });
        if self.partitions.len() > 1 {
            self.partitions.sort_unstable();
            self.partitions.dedup();
        }
    }

    fn see_host(&mut self, sender: IpAddr, [a, b]: [IpAddr; 2]) {
        if let Some(heard) = self.heard.get_mut(Partition::of(a, b, GROUPS)) {
            // Analyses count; summaries and checks need no hop limits.
            heard.insert(sender, if sender == a { b } else { a }, 0);
        }
    }
}
