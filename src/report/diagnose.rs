//! `gamewire diagnose`: what is wrong with servers, for a terminal, an issue or a script.

mod json;

use dissectors::kit::{Item, ItemGroup, Role};

use super::abuse_figures::attack_on;
use super::paint::{TextStyle, Tone};
use super::{markdown, put};
use crate::abuse::Attack;
use crate::diagnose::{
    Broadcast, DiagnosedParty, DiagnosedServer, Diagnoses, ItemVerdict, Met, Outcome,
};
use crate::text::{counted, escaped, grouped, hanging, shortened, width};

/// Maximum number of servers with a line each, in text.
pub(in crate::report) const SERVERS: usize = 50;

/// Maximum number of servers whose troubles are shown below their lines.
const EXPLAINED: usize = 8;

/// Why a capture has no server.
pub(in crate::report) const NO_SERVER: &str = "none is queried, and none joins a master";

/// Maximum length of a text on a line.
const WIDE: usize = 240;

/// Minimum width of the column with texts; where there is less room, they go below the line, at this column.
const NARROW: usize = 30;
const BELOW: usize = 7;

/// Diagnoses to be written.
pub struct DiagnosisReport<'r> {
    /// What came of the servers.
    pub diagnoses: &'r Diagnoses,
    /// The capture's name, where there are several.
    pub capture: Option<&'r str>,
    /// A server was requested: everything about it is shown.
    pub is_named: bool,
}

impl DiagnosisReport<'_> {
    /// For people; on a terminal, lines are at most as long as it is wide.
    pub fn text(&self, style: TextStyle, out: &mut Vec<u8>) {
        let TextStyle { terminal, paint } = style;
        if let Some(capture) = self.capture {
            put(out, format_args!("==> {} <==\n", escaped(capture)));
        }
        for attack in self.diagnoses.other_attacks() {
            in_a_line(Outcome::Fault, &attacked(attack), style, out);
        }
        for (at, master) in self.probed_masters().iter().enumerate() {
            if at > 0 {
                out.push(b'\n');
            }
            whole_master(master, style, out);
        }
        let servers = &self.diagnoses.servers;
        if servers.is_empty() && self.probed_masters().is_empty() {
            let text = format!("no server: {}", self.why_none());
            put(out, format_args!("{}\n", hanging(&text, 0, terminal)));
        }
        for (at, server) in self.whole().iter().enumerate() {
            if at > 0 {
                out.push(b'\n');
            }
            whole(server, self.diagnoses.has_lists, style, out);
        }
        let mut explained = 0;
        for server in self.in_a_line() {
            in_a_line(server.outcome(), &headline(server), style, out);
            if explained < EXPLAINED {
                explained += usize::from(troubles(server, terminal, out));
            }
        }
        for (at, party) in self.parties().enumerate() {
            if at == 0 && !self.whole().is_empty() {
                out.push(b'\n');
            }
            in_a_line(party.outcome(), &headline_of(party), style, out);
            for (item, also) in party.faults() {
                let text = Some(&*item.text).filter(|text| !text.is_empty());
                for line in also.as_deref().into_iter().chain(text).chain(item.advice()) {
                    put(out, format_args!("        {}\n", hanging(&escaped(line), 8, terminal)));
                }
            }
        }
        for broadcast in self.broadcasts_in_vain() {
            in_a_line(Outcome::Unknown, &in_vain(broadcast), style, out);
        }
        if let Some(note) = self.note() {
            let note = hanging(&note, 0, terminal);
            paint.paint(Tone::Faint, out, |out| put(out, format_args!("{note}\n")));
        }
    }

    /// For an issue.
    pub fn markdown(&self, out: &mut Vec<u8>) {
        if let Some(capture) = self.capture {
            put(out, format_args!("### {}\n\n", markdown::cell(capture)));
        }
        for attack in self.diagnoses.other_attacks() {
            put(out, format_args!("**{}**\n\n", markdown::cell(&attacked(attack))));
        }
        for master in self.probed_masters() {
            let headline = markdown::cell(&headline_of(master)).to_string();
            markdown_items(&headline, None, master.items.iter().map(|it| (it, it.advice())), out);
        }
        if self.diagnoses.servers.is_empty() && self.probed_masters().is_empty() {
            put(out, format_args!("No server: {}.\n", self.why_none()));
        }
        for (at, server) in self.whole().iter().enumerate() {
            if at > 0 {
                out.push(b'\n');
            }
            let headline = markdown::cell(&headline(server)).to_string();
            let advice = |item: &ItemVerdict| item.advice().filter(|_| server.is_advised(item));
            let items = server.decisive_items().map(|item| (item, advice(item)));
            markdown_items(&headline, Some(server.position.says()), items, out);
        }
        for server in self.whole() {
            for (at, (master, outcome, text)) in server.other_masters().into_iter().enumerate() {
                if at == 0 {
                    put(out, format_args!("\n| | other master | |\n|---|---|---|\n"));
                }
                let text = markdown::cell(&text);
                put(out, format_args!("| {} | {master} | {text} |\n", outcome.name()));
            }
        }
        let lines = self.in_a_line();
        if !lines.is_empty() {
            put(out, format_args!("| | server |\n|---|---|\n"));
        }
        for server in lines {
            let text = markdown::cell(&headline(server));
            put(out, format_args!("| {} | {text} |\n", server.outcome().name()));
        }
        for (at, party) in self.parties().enumerate() {
            if at == 0 {
                put(out, format_args!("\n| | client or master | |\n|---|---|---|\n"));
            }
            let faults = party.faults().map(|(item, also)| {
                let also = also.map_or(String::new(), |also| also + ". ");
                format!("{also}{}. {}", item.text, item.advice().unwrap_or(""))
            });
            let text = Vec::from_iter(faults).join(" ");
            let (headline, text) = (markdown::cell(&headline_of(party)), markdown::cell(&text));
            put(out, format_args!("| {} | {headline} | {text} |\n", party.outcome().name()));
        }
        for broadcast in self.broadcasts_in_vain() {
            put(out, format_args!("\n{}\n", markdown::cell(&in_vain(broadcast))));
        }
        if let Some(note) = self.note() {
            put(out, format_args!("\n{}\n", markdown::cell(&note)));
        }
    }

    /// Why there is no server, and what else to ask.
    fn why_none(&self) -> String {
        let how = "--server IP:PORT looks one up in the lists of masters";
        let more = if self.diagnoses.has_lists { format!("; {how}") } else { String::new() };
        NO_SERVER.to_owned() + &more
    }

    /// The masters that are shown in full: those that gamewire asked by itself.
    fn probed_masters(&self) -> &[DiagnosedParty] {
        if self.diagnoses.of_probe { &self.diagnoses.masters } else { &[] }
    }

    /// The servers that are shown in full.
    fn whole(&self) -> &[DiagnosedServer] {
        let servers = &self.diagnoses.servers;
        if self.is_named || servers.len() == 1 { servers } else { &[] }
    }

    /// The others. Servers that others are attacked with are hardly known otherwise.
    fn in_a_line(&self) -> Vec<&DiagnosedServer> {
        let servers = &self.diagnoses.servers;
        let others = if self.whole().is_empty() { &servers[..] } else { &[] };
        let is_attacked = self.diagnoses.other_attacks().next().is_some();
        let is_shown = |it: &&DiagnosedServer| !(is_attacked && it.outcome() == Outcome::Unknown);
        others.iter().filter(is_shown).take(SERVERS).collect()
    }

    /// The clients and masters that are shown: those with faults, and where there is no server, all masters, up to a
    /// maximum.
    fn parties(&self) -> impl Iterator<Item = &DiagnosedParty> {
        let Diagnoses { servers, clients, masters, of_probe, .. } = self.diagnoses;
        let masters = if *of_probe { &[] } else { &masters[..] };
        let is_shown = |party: &&DiagnosedParty| {
            let is_all_there_is = servers.is_empty() && party.role == Role::Master;
            is_all_there_is || party.outcome() == Outcome::Fault
        };
        clients.iter().chain(masters).filter(is_shown).take(SERVERS)
    }

    /// The broadcasts that no server answers; none where a server is named.
    fn broadcasts_in_vain(&self) -> impl Iterator<Item = &Broadcast> {
        let all = if self.is_named { &[][..] } else { &self.diagnoses.broadcasts };
        all.iter().filter(|it| it.answered_by.is_empty())
    }

    /// A note about what is not shown.
    fn note(&self) -> Option<String> {
        let lines = self.in_a_line().len();
        let more = self.diagnoses.servers.len().saturating_sub(lines.max(self.whole().len()));
        let mut notes = Vec::new();
        if more > 0 {
            notes.push(counted(more as u64, "more server"));
        }
        notes.extend(self.diagnoses.left_out());
        notes.extend(near(self.diagnoses));
        if lines > 0 {
            notes.push("--server IP:PORT shows all items of one server".to_owned());
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

/// The address of a server; without a port where none is known.
fn address(server: &DiagnosedServer) -> String {
    let asked = server.items.iter().find(|it| it.item == Item::Asked);
    let is_asked = asked.is_some_and(|it| it.met == Met::Yes);
    match server.server.port() {
        0 if !is_asked => server.server.ip().to_string(),
        _ => server.server.to_string(),
    }
}

/// The first line about a client or a master.
pub(in crate::report) fn headline_of(party: &DiagnosedParty) -> String {
    let role = if party.role == Role::Client { "client" } else { "master" };
    let known = party.library.or(party.protocol.map(|id| id.info().id));
    let known = known.map_or(String::new(), |known| format!(" ({known})"));
    format!("{role} {}{known}: {}", party.address, escaped(&party.headline()))
}

/// The first line about a server.
pub(in crate::report) fn headline(server: &DiagnosedServer) -> String {
    let name = server.name.as_deref().filter(|name| !name.is_empty());
    let name = name.map(|name| format!("\"{}\"", shortened(&escaped(name), 48)));
    let protocol = server.protocol.map(|id| id.info().id.to_owned());
    let known: Vec<_> = protocol.into_iter().chain(name).collect();
    let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
    format!("{}{known}: {}", address(server), server.headline())
}

/// One party: the result and the first line about it.
fn in_a_line(outcome: Outcome, headline: &str, style: TextStyle, out: &mut Vec<u8>) {
    let TextStyle { terminal, paint } = style;
    paint.paint(tone(outcome), out, |out| put(out, format_args!("{:<8}", outcome.name())));
    put(out, format_args!("{}\n", hanging(headline, 8, terminal)));
}

/// An attack on what is no server here.
fn attacked(attack: &Attack) -> String {
    let rate = grouped(attack.rate[0].round() as u64);
    format!(
        "under attack: {}, {rate} a second; `gamewire abuse` measures the attack",
        attack_on(attack)
    )
}

/// A broadcast that no server answers, which is nobody's fault.
fn in_vain(broadcast: &Broadcast) -> String {
    let times = counted(broadcast.asked, "time");
    format!("{} (several hosts): asked {times}, and none answers", broadcast.to)
}

/// What is wrong with one of several servers, or may be, and what to do. Returns whether anything is.
fn troubles(server: &DiagnosedServer, terminal: Option<usize>, out: &mut Vec<u8>) -> bool {
    let (mut any, mut advised) = (false, None);
    for item in server.troubles() {
        any = true;
        let text = escaped(&item.text);
        let text = shortened(&text, WIDE);
        let separator = if text.is_empty() { "" } else { ": " };
        let line = format!("{}{separator}{text}", item.item.does());
        put(out, format_args!("        {:<3} {}\n", shown(item.met), hanging(&line, 12, terminal)));
        // The advice is shown once.
        let advice = item.advice().filter(|_| server.is_advised(item));
        if let Some(advice) = advice.filter(|advice| advised != Some(*advice)) {
            put(out, format_args!("            {}\n", hanging(advice, 12, terminal)));
            advised = Some(advice);
        }
    }
    any
}

/// Everything about one server. `has_lists`: the capture has lists, though perhaps none that could have it.
fn whole(server: &DiagnosedServer, has_lists: bool, style: TextStyle, out: &mut Vec<u8>) {
    let TextStyle { terminal, paint } = style;
    let headline = hanging(&headline(server), 0, terminal);
    paint.paint(tone(server.outcome()), out, |out| put(out, format_args!("{headline}\n")));
    paint.paint(Tone::Faint, out, |out| {
        put(out, format_args!("{}\n", server.position.says()));
        if server.needs_no_master {
            put(out, format_args!("its protocol needs no master\n"));
        }
    });
    out.push(b'\n');
    let labels = server.decisive_items().map(|item| item.item.does().len());
    let frames_wide = server.decisive_items().map(|item| frames(item).len()).max().unwrap_or(0);
    let wide = labels.max().unwrap_or(0);
    for line in checklist(server, has_lists) {
        match line {
            ChecklistLine::Absent(group) => {
                let columns = [wide, frames_wide];
                let line = item_line(group.does(), "", absent(server), columns, terminal);
                paint.paint(Tone::Faint, out, |out| put(out, format_args!("{:<5}{line}\n", "?")));
            }
            ChecklistLine::Item(item, advice) => {
                one(item, [wide, frames_wide], style, out);
                if let Some(advice) = advice {
                    put(out, format_args!("     {}\n", hanging(advice, 5, terminal)));
                }
            }
        }
    }
    for (at, (master, outcome, headline)) in server.other_masters().into_iter().enumerate() {
        if at == 0 {
            put(out, format_args!("\nwith other masters:\n"));
        }
        in_a_line(outcome, &format!("{master}: {headline}"), style, out);
    }
}

/// All items of a master.
fn whole_master(master: &DiagnosedParty, style: TextStyle, out: &mut Vec<u8>) {
    let TextStyle { terminal, paint } = style;
    let headline = hanging(&headline_of(master), 0, terminal);
    paint.paint(tone(master.outcome()), out, |out| put(out, format_args!("{headline}\n\n")));
    let wide = |text: fn(&ItemVerdict) -> usize| master.items.iter().map(text).max().unwrap_or(0);
    let columns = [wide(|item| item.item.does().len()), wide(|item| frames(item).len())];
    for item in &master.items {
        one(item, columns, style, out);
        if let Some(advice) = item.advice().filter(|_| item.met == Met::No) {
            put(out, format_args!("     {}\n", hanging(advice, 5, terminal)));
        }
    }
}

/// A table of items with advice, in Markdown.
fn markdown_items<'i>(
    headline: &str,
    position: Option<&str>,
    items: impl Iterator<Item = (&'i ItemVerdict, Option<&'static str>)>,
    out: &mut Vec<u8>,
) {
    put(out, format_args!("**{headline}**\n\n"));
    if let Some(position) = position {
        put(out, format_args!("({position})\n\n"));
    }
    put(out, format_args!("| | item | frames | |\n|---|---|---|---|\n"));
    for (item, advice) in items {
        let advice = advice.map_or(String::new(), |advice| format!(". {advice}"));
        put(
            out,
            format_args!(
                "| {} | {} | {} | {}{} |\n",
                shown(item.met),
                item.item.does(),
                frames(item),
                markdown::cell(&item.text),
                markdown::cell(&advice),
            ),
        );
    }
}

/// The near protocols in the capture, which are not decoded: the first few.
pub(in crate::report) fn near(diagnoses: &Diagnoses) -> Option<String> {
    const FIRST: usize = 4;
    let near = &diagnoses.near;
    let each = near.iter().take(FIRST).map(|it| {
        let (transport, port) = (it.transport.name().to_uppercase(), it.port);
        format!("{} ({transport} port {port}, {})", it.protocol, counted(it.packets, "packet"))
    });
    let each = Vec::from_iter(each).join(", ");
    let more = match near.len().saturating_sub(FIRST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!near.is_empty()).then(|| format!("also in the capture, not decoded: {each}{more}"))
}

/// That the capture has nothing about a group of conditions.
pub(in crate::report) fn absent(server: &DiagnosedServer) -> &'static str {
    match server.is_cut {
        true => "nothing of that is in what fits into memory",
        false => "nothing of that is in the capture",
    }
}

/// A line of a server's checklist.
pub(in crate::report) enum ChecklistLine<'d> {
    /// The capture has nothing about these conditions.
    Absent(ItemGroup),
    /// A condition, and what to do.
    Item(&'d ItemVerdict, Option<&'static str>),
}

/// The conditions of a server, in the order in which they must be met. `has_lists`: the capture has lists,
/// though perhaps none that could have it.
pub(in crate::report) fn checklist(
    server: &DiagnosedServer,
    has_lists: bool,
) -> Vec<ChecklistLine<'_>> {
    let (mut lines, mut advised) = (Vec::new(), None);
    for group in ItemGroup::ALL {
        let items = || server.decisive_items().filter(|it| it.item.group() == *group);
        let is_absent =
            !(*group == ItemGroup::Lists && has_lists) && items().all(ItemVerdict::is_absent);
        if is_absent {
            lines.extend(items().next().map(|_| ChecklistLine::Absent(*group)));
            continue;
        }
        for item in items() {
            // The advice is shown once.
            let advice = item.advice().filter(|_| server.is_advised(item));
            let advice = advice.filter(|advice| advised != Some(*advice));
            advised = advice.or(advised);
            lines.push(ChecklistLine::Item(item, advice));
        }
    }
    lines
}

/// One item.
fn one(item: &ItemVerdict, columns: [usize; 2], style: TextStyle, out: &mut Vec<u8>) {
    let TextStyle { terminal, paint } = style;
    let tone = match item.met {
        Met::Yes => Tone::Good,
        Met::No => tone_of_fault(),
        Met::Unknown => Tone::Faint,
    };
    paint.paint(tone, out, |out| put(out, format_args!("{:<5}", shown(item.met))));
    let (label, frames, text) = (item.item.does(), frames(item), escaped(&item.text));
    let line = item_line(label, &frames, &shortened(&text, WIDE), columns, terminal);
    put(out, format_args!("{line}\n"));
}

/// The line of an item after its verdict. Where the terminal has no room for the text in a column of its own, it goes below
/// the line.
fn item_line(
    label: &str,
    frames: &str,
    text: &str,
    [wide, frames_wide]: [usize; 2],
    terminal: Option<usize>,
) -> String {
    let indent = 5 + wide + 2 + frames_wide + 2;
    let room = terminal.map_or(usize::MAX, |terminal| terminal.saturating_sub(indent));
    let fits = |indent: usize| terminal.is_none_or(|most| indent + width(text) <= most);
    let line = if fits(indent) || room >= NARROW {
        let text = hanging(text, indent, terminal);
        format!("{label:<wide$}  {frames:<frames_wide$}  {text}")
    } else if frames.is_empty() && fits(5 + wide + 2) {
        format!("{label:<wide$}  {text}")
    } else if text.is_empty() {
        format!("{label:<wide$}  {frames}")
    } else {
        let text = hanging(text, BELOW, terminal);
        format!("{label:<wide$}  {frames}\n{:BELOW$}{text}", "")
    };
    line.trim_end().to_owned()
}

/// Whether a condition is met, as text.
pub(in crate::report) fn shown(met: Met) -> &'static str {
    match met {
        Met::Yes => "yes",
        Met::No => "NO",
        Met::Unknown => "?",
    }
}

/// The packets that show an item.
pub(in crate::report) fn frames(item: &ItemVerdict) -> String {
    let frames: Vec<_> = item.frames.iter().map(u64::to_string).collect();
    let more = if item.has_more { " ff." } else { "" };
    match frames.len() {
        0 => String::new(),
        1 => format!("frame {}{more}", frames.concat()),
        _ => format!("frames {}{more}", frames.join(", ")),
    }
}

/// The tone of what is wrong.
pub(in crate::report) fn tone_of_fault() -> Tone {
    use dissectors::kit::{Severity, Verdict};
    Tone::Finding(Severity::Error, Verdict::Fail)
}

/// The tone of a result.
pub(in crate::report) fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Fault => tone_of_fault(),
        Outcome::Unknown => Tone::Label,
        Outcome::Good => Tone::Good,
    }
}
