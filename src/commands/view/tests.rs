//! Keys in, screens out: on samples, with tasks run synchronously.

mod filtered;
mod lists;
mod picture;
mod writing;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::style::Modifier;

use super::tasks::Task;
use super::*;
use crate::capture::write::PcapNgWriter;
use crate::capture::{LinkType, Packet};
use crate::cli::{Cli, Command};
use crate::text::is_hidden;
use crate::view::{Matches, TaskReply, TaskRequest, draw};

/// A user in front of a screen.
struct TestUser {
    again: CaptureAgain,
    view: View,
    /// The text that was copied last, and whether the user has quit.
    copied: String,
    has_quit: bool,
}

fn sample(name: &str) -> String {
    format!("{}/samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

impl TestUser {
    /// After the captures have been read.
    fn with(args: &[&str]) -> TestUser {
        let args = ["gamewire", "view", "--no-config"].iter().chain(args).map(OsString::from);
        let Command::View(args) = Cli::read(args).unwrap().command else { panic!("a view") };
        let filter = args.input.wanted.filter(true).unwrap();
        let view = View::new(args.times.style(), filter);
        let again = CaptureAgain::new(args.input, Config::default());
        let start = |_| std::thread::spawn(|| Ok(()));
        let mut watching = ModelFiller::new(again.clone(), start);
        let mut log = ScreenLog { shared: Arc::clone(&again.shared), line: Vec::new() };
        let ran =
            read(&again.input, &again.config, &mut watching, Terminal::default(), &mut log, false);
        assert!(matches!(ran, Ok(()) | Err(Failure::Reported)), "{ran:?}");
        again.shared.is_read.store(true, Ordering::Relaxed);
        again.shared.lock_now().reading = ReadingProgress::Over;
        let mut user = TestUser { again, view, copied: String::new(), has_quit: false };
        user.refresh();
        // Most tests begin in the list of conversations.
        user.keys(&["2"]);
        user
    }

    fn of(name: &str) -> TestUser {
        TestUser::with(&[&sample(name)])
    }

    fn refresh(&mut self) {
        let kept = self.again.shared.kept.lock().unwrap().counts();
        let mut model = self.again.shared.lock_now();
        model.kept = Some(kept);
        self.view.refresh(&model);
    }

    fn key(&mut self, key: KeyEvent) {
        let request = self.view.key(key, &self.again.shared.lock_now());
        self.serve(request);
        // Drawing determines the number of lines.
        self.buffer(100, 30);
    }

    /// Keys by their names, and texts after a colon.
    fn keys(&mut self, keys: &[&str]) {
        for name in keys {
            let code = match *name {
                "Enter" => KeyCode::Enter,
                "Esc" => KeyCode::Esc,
                "Down" => KeyCode::Down,
                "Up" => KeyCode::Up,
                "End" => KeyCode::End,
                "Home" => KeyCode::Home,
                "PgDn" => KeyCode::PageDown,
                "Tab" => KeyCode::Tab,
                "BackTab" => KeyCode::BackTab,
                "Space" => KeyCode::Char(' '),
                "Clear" => {
                    self.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
                    continue;
                }
                text if text.len() > 1 && text.starts_with(':') => {
                    text.chars().skip(1).for_each(|c| self.key(KeyCode::Char(c).into()));
                    continue;
                }
                letter => KeyCode::Char(letter.chars().next().unwrap()),
            };
            self.key(code.into());
        }
    }

    fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) {
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        let request = self.view.mouse(event, &self.again.shared.lock_now());
        self.serve(request);
    }

    fn click(&mut self, column: u16, row: u16) {
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row);
    }

    fn task(&self) -> Task {
        Task::new(self.again.clone(), channel().0)
    }

    fn serve(&mut self, request: Option<TaskRequest>) {
        let task = self.task();
        let reply = match request {
            None | Some(TaskRequest::Cancel | TaskRequest::Suspend) => return,
            Some(TaskRequest::Quit) => {
                self.has_quit = true;
                return;
            }
            Some(TaskRequest::Copy(text)) => {
                self.copied = text;
                return;
            }
            Some(TaskRequest::Ladder { conversations, frame }) => task.ladder(conversations, frame),
            Some(TaskRequest::Message(conversations, nth)) => task.message(&conversations, nth),
            Some(TaskRequest::Save(file, bytes)) => task.save(&file, &bytes),
            Some(TaskRequest::Answer) => task.answer(),
            Some(TaskRequest::Write(file, chosen)) => task.write(&file, &chosen),
            Some(TaskRequest::Filter(filter)) => {
                self.again.shared.lock_now().matches = filter.clone().map(Matches::of);
                match filter {
                    Some(filter) => task.filter(&filter),
                    None => return self.refresh(),
                }
            }
        };
        self.view.reply(reply.unwrap_or_else(|failure| TaskReply::Failed(failure.to_string())));
        self.refresh();
    }

    fn buffer(&mut self, width: u16, height: u16) -> Buffer {
        let mut terminal = ratatui::Terminal::new(TestBackend::new(width, height)).unwrap();
        let model = self.again.shared.lock_now();
        terminal.draw(|frame| draw(frame, &mut self.view, &model, true)).unwrap();
        terminal.backend().buffer().clone()
    }

    fn screen(&mut self, width: u16, height: u16) -> String {
        let buffer = self.buffer(width, height);
        let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        let rows = (0..height).map(|y| row(y).trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n")
    }

    /// A snapshot in both sizes, with paths that are the same everywhere.
    fn snapshot(&mut self, name: &str) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
        for (width, height) in [(80, 24), (120, 40)] {
            let screen = self.screen(width, height);
            insta::with_settings!({
                snapshot_path => folder,
                prepend_module_to_snapshot => false,
                omit_expression => true,
            }, {
                insta::assert_snapshot!(format!("view-{name}-{width}x{height}"), screen);
            });
        }
    }
}

/// A folder of this test alone.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("gamewire-view-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs another command.
fn run(args: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once("gamewire").chain(args.iter().copied()).map(OsString::from);
    let code = crate::run(args, &mut out, &mut err, Terminal::default());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (code, text(out), text(err))
}

#[test]
fn screens_of_two_sizes() {
    // From the package's folder, where tests run, so that paths are the same everywhere.
    let files = ["samples/a2s-quirks.pcap", "samples/valve-master-faults.pcap"];
    let mut user = TestUser::with(&files);
    user.keys(&["1"]);
    user.snapshot("answer");
    user.keys(&["2"]);
    user.snapshot("conversations");
    user.keys(&["Down", "Down", "Down", "Down", "Down", "Enter"]);
    user.snapshot("ladder");
    user.keys(&["End", "Up", "Enter", "Down", "Down", "Down"]);
    user.snapshot("message");
    user.keys(&["Esc", "Esc", "3"]);
    user.snapshot("servers");
    user.keys(&["Tab", "Down"]);
    user.snapshot("findings");
    user.keys(&["e"]);
    user.snapshot("rule");
    user.keys(&["Esc", "Tab", "Down"]);
    user.snapshot("messages");
    user.keys(&["2", "/", ":a2s.info_response.playrs > 3 and map == x"]);
    user.snapshot("filter");
    user.keys(&["Esc", "?"]);
    user.snapshot("keys");
}

#[test]
fn enter_opens_and_escape_closes_step_by_step() {
    let mut user = TestUser::of("a2s-info-players-rules.pcap");
    let list = user.screen(100, 30);
    user.keys(&["Enter"]);
    let ladder = user.screen(100, 30);
    assert!(ladder.contains("\u{2500}info_request\u{2500}"), "{ladder}");
    user.keys(&["Enter"]);
    let message = user.screen(100, 30);
    assert!(message.contains("a2s info_request") && message.contains("Source E"), "{message}");
    user.keys(&["n"]);
    assert!(user.screen(100, 30).contains("challenge_response"));
    user.keys(&["p", "p"]);
    assert!(user.screen(100, 30).contains("no more messages this way"));
    user.keys(&["Esc"]);
    assert_eq!(user.screen(100, 30), ladder);
    user.keys(&["q"]);
    assert_eq!(user.screen(100, 30), list);
    assert!(!user.has_quit);
    user.keys(&["Esc"]);
    assert!(!user.has_quit && user.screen(100, 30).contains("q quits"));
    user.keys(&["q"]);
    assert!(user.has_quit);
}

#[test]
fn opened_messages_equal_dissect() {
    for name in [
        "a2s-info-players-rules.pcap",
        "a2s-split-bzip2.pcap",
        "a2s-tunnels.pcap",
        "a2s-vlan-ipv6-fragments.pcapng",
        "gamespy1-list.pcap",
        "acr-master.pcap",
        "silence-doubled.pcap",
        "valve-master-registration.pcap",
    ] {
        let file = sample(name);
        let user = TestUser::with(&[&file]);
        let conversations: Vec<_> = {
            let model = user.again.shared.lock_now();
            let numbers = model.index.order().iter();
            numbers.map(|&number| model.index.get(number).unwrap()).collect()
        };
        assert!(!conversations.is_empty(), "{name}");
        for it in conversations {
            // The first flow's number is 1, the first conversation's 0.
            let flow = (it.number + 1).to_string();
            let (_, out, _) = run(&["dissect", "--no-config", "--flow", &flow, &file]);
            let lines = out.lines().filter(|line| !line.starts_with("--"));
            let lines: Vec<String> =
                lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            let all = user.again.shared.lock_now().index.all_messages(it.number);
            assert_eq!(Some(lines.len() as u32), all, "{name}, flow {flow}");
            for (nth, line) in (0..).zip(&lines) {
                let only = [it.number].into();
                let Ok(TaskReply::Message(Some(opened))) = user.task().message(&only, nth) else {
                    panic!("{name}, flow {flow}, message {nth}");
                };
                // Its time is written when it is shown. Information that `dissect` has from all packets, such
                // as an ICMP error, is added to its line.
                let (head, timeless) = (&opened.head, line.split_once(' ').unwrap().1);
                let is_same = timeless.starts_with(&**head) || line.contains("via ");
                assert!(is_same, "{line}\n{head}");
            }
        }
    }
}

#[test]
fn every_tab_can_be_sorted_by_every_column_and_back() {
    let mut user = TestUser::of("a2s-quirks.pcap");
    for tab in ["2", "3", "4"] {
        user.keys(&[tab]);
        let rows = |user: &mut TestUser| {
            let screen = user.screen(120, 60);
            let rows: Vec<_> = screen.lines().skip(3).take(55).map(str::to_owned).collect();
            rows.into_iter().filter(|row| row.starts_with("  ")).collect::<Vec<_>>()
        };
        let first = rows(&mut user);
        assert!(first.len() > 2, "{first:?}");
        let (mut columns, mut turned) = (0, 0);
        loop {
            user.keys(&["s"]);
            if user.screen(120, 60).contains("not sorted") {
                break;
            }
            columns += 1;
            let sorted = rows(&mut user);
            user.keys(&["S"]);
            let reversed = rows(&mut user);
            user.keys(&["S"]);
            assert_eq!(sorted, rows(&mut user), "tab {tab}, column {columns}");
            // Rows without a value are last in both orders, and equal ones in the same order.
            turned += usize::from(sorted.first() != reversed.first());
            let set = BTreeSet::<String>::from_iter;
            for rows in [sorted, reversed] {
                assert_eq!(set(rows), set(first.clone()), "tab {tab}, column {columns}");
            }
        }
        assert!(columns > 5 && turned > columns / 2, "{columns}, {turned}");
    }
}

#[test]
fn a_server_leads_to_its_ladder_and_a_finding_to_its_packet() {
    let mut user = TestUser::of("a2s-quirks.pcap");
    user.keys(&["3", "Enter"]);
    let screen = user.screen(100, 30);
    let args = ["--host", "10.0.0.2:27015", &sample("a2s-quirks.pcap")];
    let (_, out, _) =
        run(&[&["dissect", "--no-config", "--fields", "frame,flow"], &args[..]].concat());
    let lines: Vec<_> = out.lines().skip(1).collect();
    let flows = BTreeSet::from_iter(lines.iter().map(|line| line.split_once('\t').unwrap().1));
    assert!(flows.len() > 8 && screen.contains(&format!("\n{} messages", lines.len())), "{screen}");
    // Its messages are opened, one after the other, across its conversations.
    user.keys(&["Enter"]);
    for line in &lines {
        let (frame, _) = line.split_once('\t').unwrap();
        let screen = user.screen(100, 30);
        assert!(screen.contains(&format!(" {frame} 10.0.")), "{frame}:\n{screen}");
        user.keys(&["n"]);
    }
    user.keys(&["Esc", "Esc", "4", "Enter"]);
    let screen = user.screen(100, 30);
    let selected = user.buffer(100, 30);
    let y = (0..30).find(|&y| selected[(0, y)].modifier.contains(Modifier::REVERSED) && y > 1);
    let line = screen.lines().nth(y.unwrap().into()).unwrap();
    assert!(line.contains(" 20  "), "the packet of the gravest finding: {line}\n{screen}");
}

#[test]
fn the_bytes_of_the_selected_field_are_marked_and_a_byte_leads_to_its_field() {
    let mut user = TestUser::of("a2s-info-players-rules.pcap");
    user.keys(&["Enter", "End", "Enter"]);
    for (width, columns) in [(80_u16, 8_u16), (118, 16)] {
        let start = width - (6 + columns * 3 + 2 + columns) + 6;
        // Every byte in the first row: clicking it marks it.
        for byte in 0..columns {
            let half = u16::from(byte >= columns / 2);
            user.buffer(width, 24);
            user.click(start + byte * 3 + half, 3);
            let buffer = user.buffer(width, 24);
            let cell = &buffer[(start + byte * 3 + half, 3)];
            assert_eq!(cell.bg, ratatui::style::Color::Yellow, "byte {byte} of {columns}");
        }
    }
    user.keys(&["Home"]);
    let marked = |user: &mut TestUser| {
        let buffer = user.buffer(120, 24);
        buffer.content().iter().filter(|cell| cell.bg == ratatui::style::Color::Yellow).count()
    };
    // Four bytes: in hex with the spaces between, and as letters.
    assert_eq!(marked(&mut user), 4 * 2 + 3 + 4);
    user.keys(&["Down"]);
    assert_eq!(marked(&mut user), 3);
}

#[test]
fn the_mouse_selects_drawn_elements() {
    let mut user = TestUser::of("a2s-quirks.pcap");
    let screen = user.screen(100, 30);
    let tab = screen.lines().next().unwrap().find("Findings").unwrap() as u16;
    user.click(tab, 0);
    assert!(user.screen(100, 30).contains("SEVERITY"));
    user.click(13, 0);
    user.screen(100, 30);
    user.click(10, 5);
    let selected = user.screen(100, 30);
    assert!(selected.contains("10.0.0.1:50002 > 10.0.1.2:27015"), "{selected}");
    user.mouse(MouseEventKind::ScrollDown, 10, 10);
    assert!(user.screen(100, 30).contains("10.0.0.1:50005 > 10.0.0.2:27015"));
    user.click(10, 5);
    user.click(10, 5);
    assert!(user.screen(100, 30).contains("challenge 405280807"), "it was opened");
    user.mouse(MouseEventKind::Down(MouseButton::Right), 0, 0);
    assert!(user.screen(100, 30).contains("ANSWERED"));
    user.click(99, 1);
    assert!(user.view.is_typing());
}

#[test]
fn an_unreadable_file_does_not_shift_others() {
    let folder = folder("unreadable");
    let out = folder.join("out").display().to_string();
    let files = [sample("README.md"), sample("a2s-goldsrc.pcap"), sample("a2s-quirks.pcap")];
    let mut user = TestUser::with(&[&files[0], &files[1], &files[2]]);
    let screen = user.screen(200, 30);
    assert!(screen.contains("README.md: "), "{screen}");
    user.keys(&["w", "Clear", &format!(":{out}"), "Enter"]);
    let count = |args: &[&str]| run(args).1.lines().filter(|line| !line.starts_with("--")).count();
    let both = count(&["dissect", "--no-config", &files[1]])
        + count(&["dissect", "--no-config", &files[2]]);
    assert_eq!(count(&["dissect", "--no-config", &out]), both);
    user.keys(&["End", "Enter"]);
    assert!(user.screen(100, 30).contains("10.0.1.1:50001"), "the last one of the last file");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_open_message_is_copied_as_text() {
    let mut user = TestUser::of("a2s-info-players-rules.pcap");
    user.keys(&["y"]);
    assert!(user.copied.starts_with("10.0.0.1:50000 > 10.0.0.2:27015, a2s"), "{}", user.copied);
    user.keys(&["Enter", "y"]);
    assert!(user.copied.contains("info_request") && user.copied.lines().count() > 3);
    user.keys(&["Enter", "y"]);
    assert!(user.copied.contains("Message type: 'T'") && user.copied.contains("ff ff ff ff"));
}

#[test]
fn packets_of_a_pipe_are_kept_and_read_as_from_a_file() {
    let folder = folder("pipe");
    for name in ["a2s-quirks.pcap", "gamespy1-list.pcap"] {
        let pipe = folder.join(name);
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let (bytes, to) = (std::fs::read(sample(name)).unwrap(), pipe.clone());
        let writer = std::thread::spawn(move || std::fs::write(to, bytes));
        let mut once = TestUser::with(&[pipe.to_str().unwrap()]);
        writer.join().unwrap().unwrap();
        let mut file = TestUser::of(name);
        for keys in [&["Enter"][..], &["Enter"], &["Esc", "Esc", "/", ":frame > 3", "Enter"]] {
            once.keys(keys);
            file.keys(keys);
            let below_the_name = |user: &mut TestUser| {
                user.screen(100, 30).lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(below_the_name(&mut once), below_the_name(&mut file));
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_index_stays_within_its_memory_and_reports_omissions() {
    let flood = sample("abuse-query-flood.pcap");
    let all = TestUser::with(&[&flood]);
    let count = all.again.shared.lock_now().index.order().len();
    assert!(count > 3000, "{count}");
    let mut small = TestUser::with(&["--limit", "flow-bytes=400K", &flood]);
    let (kept, let_go) = {
        let model = small.again.shared.lock_now();
        (model.index.order().len(), model.index.let_go())
    };
    let bytes = (400 << 10) / 4;
    assert!(kept * crate::view::BYTES_OF_CONVERSATION <= bytes, "{kept}");
    assert!(kept > 100 && kept as u64 + let_go >= count as u64, "{kept} {let_go} {count}");
    let screen = small.screen(120, 30);
    assert!(screen.contains("old conversations dropped (--memory)"), "{screen}");
    small.keys(&["Enter"]);
    assert!(
        small.screen(120, 30).contains("info_request"),
        "the oldest that is there can be opened"
    );
}

#[test]
fn nothing_that_a_terminal_obeys_is_drawn_of_any_capture() {
    let folder = folder("hostile");
    let path = folder.join("hostile.pcapng");
    std::fs::write(&path, hostile()).unwrap();
    let mut files = vec![path];
    let samples = std::fs::read_dir(sample("")).unwrap().map(|file| file.unwrap().path());
    files.extend(samples.filter(|file| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        name.contains("fault") || name.contains("quirk") || name.contains("split")
    }));
    assert!(files.len() > 8);
    for file in files {
        let mut user = TestUser::with(&[file.to_str().unwrap()]);
        for tab in ["1", "3", "4", "5", "2"] {
            user.keys(&[tab]);
            check(&mut user, &file);
        }
        let conversations = user.again.shared.lock_now().index.order().len();
        for _ in 0..conversations.min(12) {
            user.keys(&["Enter"]);
            check(&mut user, &file);
            user.keys(&["End", "Enter", "End"]);
            check(&mut user, &file);
            user.keys(&["Esc", "Esc", "Down"]);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();

    fn check(user: &mut TestUser, file: &Path) {
        for (width, height) in [(80, 24), (1, 1), (0, 0), (13, 5), (240, 70)] {
            let buffer = user.buffer(width, height);
            for cell in buffer.content() {
                let is_safe = cell.symbol().chars().all(|c| !is_hidden(c));
                assert!(is_safe, "{}: {:?}", file.display(), cell.symbol());
            }
        }
    }
}

/// An A2S server with terminal control sequences in its texts, in a capture of raw IP.
fn hostile() -> Vec<u8> {
    let evil =
        "\u{1b}[2J\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}gpj\u{200b}\u{9b}31m \u{6f22}\u{5b57}\r\n";
    let mut info = b"\xFF\xFF\xFF\xFFI\x11".to_vec();
    for text in [evil, evil, "cs\u{7f}", evil] {
        info.extend_from_slice(text.as_bytes());
        info.push(0);
    }
    info.extend_from_slice(b"\x0A\0\x05\x20\x01dl\0\x01");
    info.extend_from_slice(evil.as_bytes());
    info.push(0);
    let request = b"\xFF\xFF\xFF\xFFTSource Engine Query\0".to_vec();
    let mut writer = PcapNgWriter::new(Vec::new()).unwrap();
    let ends = [([10, 0, 0, 1], 50_000_u16), ([10, 0, 0, 2], 27_015)];
    for (at, (payload, [from, to])) in
        [(request, ends), (info, [ends[1], ends[0]])].into_iter().enumerate()
    {
        let udp = 8 + payload.len() as u16;
        let mut data = vec![0x45, 0];
        data.extend((20 + udp).to_be_bytes());
        data.extend([0, 1, 0, 0, 64, 17, 0, 0]);
        data.extend([from.0, to.0].concat());
        for word in [from.1, to.1, udp, 0] {
            data.extend(word.to_be_bytes());
        }
        data.extend(payload);
        let time = at as i64 * 1_000_000;
        let packet = Packet { link: LinkType::RAW, ..Packet::new(time, &data) };
        writer.packet(&packet, 0, None, &[]).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn without_a_terminal_it_names_other_commands() {
    let (code, out, err) = run(&["view", &sample("a2s-quirks.pcap")]);
    assert_eq!((code, &*out), (crate::UNUSABLE, ""));
    assert!(err.contains("`gamewire summary`") && err.contains("`gamewire follow`"), "{err}");
}
