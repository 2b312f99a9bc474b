//! Measures gamewire as it is packaged: complete processes on captures of millions of packets, in
//! turn with `cat` and other installed programs. The results are written to `docs/performance.md`, which
//! explains them.

mod files;
mod measure;
mod options;
mod page;
mod programs;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use captures::bulk::{Input, Size, Written};
use xtask::callgrind::{self, Counted};

use crate::built;
use files::Capture;
use measure::Cost;
use options::Options;
use page::{Page, Table};
use programs::Program;

/// Number of packets for counting instructions: valgrind is a hundred times slower.
const COUNTED: u64 = 100_000;

/// The same for `--count`.
const COUNTED_QUICKLY: u64 = 10_000;

/// Its inputs.
const COUNTED_INPUTS: [Input; 2] = [Input::A2s, Input::Mixed];

/// The sizes of the captures for `--grow` in bytes.
const SIZES: [u64; 4] = [1_000_000_000, 2_000_000_000, 4_000_000_000, 8_000_000_000];

/// Runs the measurements that the arguments select.
pub(crate) fn run(root: &Path, arguments: &[&str], out: &mut dyn Write) -> io::Result<ExitCode> {
    if arguments.contains(&"--help") {
        writeln!(out, "{}", options::USAGE)?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::parse(arguments)?;
    if (options.callgrind || options.count) && programs::find("valgrind").is_none() {
        return Err(callgrind::not_here());
    }
    if options.count {
        return count_quickly(&built(root, "release")?, &options, out);
    }
    let gamewire = built(root, "dist")?;
    let mut page = Page::default();
    if options.grow {
        grow(&gamewire, &options, &mut page, out)?;
    }
    if options.corners {
        corners(&gamewire, &options, &mut page, out)?;
    }
    if !options.grow && !options.corners {
        let again = ["cargo run --release -p xtask -- bench", &arguments.join(" ")].join(" ");
        let machine = page::machine(&gamewire)?;
        page.section("machine", format!("{machine}\n\n```text\n{}\n```", again.trim_end()));
        compare(&gamewire, &options, &mut page, out)?;
    }
    page.print(out)?;
    if options.print || !options.is_whole() {
        writeln!(out, "docs/performance.md is not changed")?;
    } else {
        page.write(root, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The results of all programs on an input.
struct Measured {
    input: Input,
    holds: Written,
    costs: Vec<Cost>,
    executed: Vec<Executed>,
}

/// What a program executes for each packet.
struct Executed {
    instructions: u64,
    /// Those that are not in the first-level cache, in its lines.
    misses: u64,
}

/// Measures all programs on the large inputs.
fn compare(
    gamewire: &Path,
    options: &Options,
    page: &mut Page,
    out: &mut dyn Write,
) -> io::Result<()> {
    let programs = programs(gamewire, options)?;
    let mut measured = Vec::new();
    for &input in &options.inputs {
        writeln!(out, "{}: {}", input.name(), input.holds())?;
        if !has_room(input.name(), estimate(input, options), options, out)? {
            continue;
        }
        let capture = Capture::input(input, options)?;
        let costs = measure::in_turn(&programs, &capture.path, options.runs)?;
        for (program, cost) in programs.iter().zip(&costs) {
            writeln!(out, "  {:40} {}", program.name, reported(cost, costs.first()))?;
        }
        let executed = if options.callgrind {
            count(&programs, &capture.first(COUNTED, options)?)?
        } else {
            Vec::new()
        };
        measured.push(Measured { input, holds: capture.holds, costs, executed });
    }
    tables(&programs, &measured, page);
    Ok(())
}

/// `cat`, gamewire, and other programs.
fn programs(gamewire: &Path, options: &Options) -> io::Result<Vec<Program>> {
    let cat = programs::cat()
        .ok_or_else(|| io::Error::other("cat is not installed, which others are compared with"))?;
    let gamewire = programs::gamewire(gamewire, options);
    Ok([cat].into_iter().chain(gamewire).chain(programs::peers(options)).collect())
}

/// What each program executes for each packet of a capture.
fn count(programs: &[Program], capture: &Capture) -> io::Result<Vec<Executed>> {
    let packets = capture.holds.packets.max(1);
    let counted = programs.iter().map(|program| measure::executed(program, &capture.path));
    counted
        .map(|counted| {
            let Counted { instructions, misses, .. } = counted?;
            Ok(Executed { instructions: instructions / packets, misses: misses / packets })
        })
        .collect()
}

/// Prints what gamewire executes for each packet.
fn count_quickly(gamewire: &Path, options: &Options, out: &mut dyn Write) -> io::Result<ExitCode> {
    let programs = programs::gamewire(gamewire, options);
    let mut table = Table::new(2, &["program", "capture", "instructions a packet", "cache misses"]);
    for input in COUNTED_INPUTS {
        let packets = options.packets.unwrap_or(COUNTED_QUICKLY);
        let capture = Capture::make(input.name(), input, Size::Packets(packets), options)?;
        for (program, executed) in programs.iter().zip(count(&programs, &capture)?) {
            let counts = [executed.instructions, executed.misses].map(|count| count.to_string());
            table.row(&[&program.name, input.name(), &counts[0], &counts[1]]);
        }
    }
    write!(out, "{}", table.text())?;
    Ok(ExitCode::SUCCESS)
}

/// The approximate number of bytes to generate for an input; 0 if it exists.
fn estimate(input: Input, options: &Options) -> u64 {
    let per_packet = if input == Input::ManyFlows { 100 } else { 1200 };
    if options.given.is_some() { 0 } else { options.packets(input) * per_packet }
}

/// Whether there is room for this number of bytes; if not, a message is written.
fn has_room(name: &str, bytes: u64, options: &Options, out: &mut dyn Write) -> io::Result<bool> {
    let folder = options.folder.parent().unwrap_or(&options.folder);
    let room = files::room(folder)?;
    if room < bytes {
        let (folder, mb, room) = (folder.display(), bytes / 1_000_000, room / 1_000_000);
        writeln!(out, "  skipped {name}: it needs {mb} MB, {folder} has room for {room} MB")?;
    }
    Ok(room >= bytes)
}

fn tables(programs: &[Program], measured: &[Measured], page: &mut Page) {
    let mut inputs = Table::new(1, &["capture", "packets", "MB", "cat, ms", "holds"]);
    for measured in measured {
        let cat = measured.costs.first().map_or(0.0, |cost| cost.wall.as_secs_f64());
        inputs.row(&[
            measured.input.name(),
            &measured.holds.packets.to_string(),
            &(measured.holds.bytes / 1_000_000).to_string(),
            &format!("{:.0}", cat * 1e3),
            measured.input.holds(),
        ]);
    }
    page.section("inputs", inputs.text().to_owned());
    page.section(
        "time",
        table(programs, measured, |measured, program| {
            let (cost, cat) = (measured.costs.get(program)?, measured.costs.first()?);
            Some(significant(cost.wall.as_secs_f64() / cat.wall.as_secs_f64()))
        }),
    );
    page.section(
        "cpu",
        table(programs, measured, |measured, program| {
            let nanoseconds = measured.costs.get(program)?.cpu.as_nanos() as f64;
            Some(format!("{:.0}", nanoseconds / measured.holds.packets as f64))
        }),
    );
    page.section(
        "memory",
        table(programs, measured, |measured, program| {
            Some(mib(measured.costs.get(program)?.memory))
        }),
    );
    let is_counted = |measured: &&Measured| !measured.executed.is_empty();
    let counted: Vec<&Measured> = measured.iter().filter(is_counted).collect();
    if counted.is_empty() {
        return;
    }
    let counts = |count: fn(&Executed) -> u64| {
        table(programs, &counted, |measured, program| {
            measured.executed.get(program).map(|executed| count(executed).to_string())
        })
    };
    page.section("instructions", counts(|executed| executed.instructions));
    page.section("misses", counts(|executed| executed.misses));
}

/// A row for each program, a column for each input.
fn table<M: std::borrow::Borrow<Measured>>(
    programs: &[Program],
    measured: &[M],
    cell: impl Fn(&Measured, usize) -> Option<String>,
) -> String {
    let inputs = measured.iter().map(|measured| measured.borrow().input.name());
    let heads: Vec<&str> = ["program"].into_iter().chain(inputs).collect();
    let mut table = Table::new(1, &heads);
    for (number, program) in programs.iter().enumerate() {
        let cells = measured
            .iter()
            .map(|measured| cell(measured.borrow(), number).unwrap_or_else(|| "-".to_owned()));
        let cells: Vec<String> = [program.name.clone()].into_iter().chain(cells).collect();
        table.row(&cells);
    }
    table.text().to_owned()
}

/// Measures A2S captures of doubling size.
fn grow(
    gamewire: &Path,
    options: &Options,
    page: &mut Page,
    out: &mut dyn Write,
) -> io::Result<()> {
    let programs = programs(gamewire, options)?;
    let programs = programs.get(..3).unwrap_or(&programs);
    let mut heads = vec!["GB".to_owned(), "packets".to_owned()];
    for program in programs {
        heads.extend([format!("{}, ns a packet", program.name), "MiB".to_owned()]);
    }
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(0, &heads);
    for size in SIZES {
        let name = format!("a2s-{}-gb", size / 1_000_000_000);
        if !has_room(&name, size, options, out)? {
            continue;
        }
        let capture = Capture::make(&name, Input::A2s, Size::Bytes(size), options)?;
        let costs = measure::in_turn(programs, &capture.path, options.runs)?;
        let packets = capture.holds.packets;
        let mut row = vec![(size / 1_000_000_000).to_string(), packets.to_string()];
        for (program, cost) in programs.iter().zip(&costs) {
            writeln!(out, "{name}: {:40} {}", program.name, reported(cost, costs.first()))?;
            row.extend([per_packet(cost, packets), mib(cost.memory)]);
        }
        table.row(&row);
    }
    page.section("grow", table.text().to_owned());
    Ok(())
}

/// Measures captures that are designed to take long, in comparison with an ordinary one of as many packets.
fn corners(
    gamewire: &Path,
    options: &Options,
    page: &mut Page,
    out: &mut dyn Write,
) -> io::Result<()> {
    let programs = programs::gamewire(gamewire, options);
    let heads =
        ["capture", "command", "packets", "ns a packet", "ns a packet of a2s", "MiB", "MiB of a2s"];
    let mut table = Table::new(2, &heads);
    for corner in Input::CORNERS {
        let packets = options.packets(corner);
        let make =
            |input: Input| Capture::make(input.name(), input, Size::Packets(packets), options);
        let made = make(corner)?;
        let costs = measure::in_turn(&programs, &made.path, options.runs)?;
        drop(made);
        let ordinary = make(Input::A2s)?;
        let ordinary_costs = measure::in_turn(&programs, &ordinary.path, options.runs)?;
        for ((program, cost), ordinary) in programs.iter().zip(&costs).zip(&ordinary_costs) {
            writeln!(
                out,
                "{}: {:40} {}",
                corner.name(),
                program.name,
                reported(cost, Some(ordinary))
            )?;
            table.row(&[
                corner.holds(),
                &program.name,
                &packets.to_string(),
                &per_packet(cost, packets),
                &per_packet(ordinary, packets),
                &mib(cost.memory),
                &mib(ordinary.memory),
            ]);
        }
    }
    page.section("corners", table.text().to_owned());
    Ok(())
}

/// The cost of a run, and its ratio to another one.
fn reported(cost: &Cost, other: Option<&Cost>) -> String {
    let wall = cost.wall.as_secs_f64();
    let times = other.map_or(1.0, |other| wall / other.wall.as_secs_f64());
    let cpu = cost.cpu.as_secs_f64();
    format!("{wall:8.3} s {times:8.2} x {cpu:8.3} s CPU {:>8} MiB", mib(cost.memory))
}

fn per_packet(cost: &Cost, packets: u64) -> String {
    format!("{:.0}", cost.wall.as_nanos() as f64 / packets.max(1) as f64)
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// A ratio with two or three digits.
fn significant(times: f64) -> String {
    if times < 10.0 { format!("{times:.2}") } else { format!("{times:.0}") }
}
