//! `gamewire export --format vectors`: each exchange as a JSON file, for tests of clients and servers.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use dissectors::kit::{Payload, Purpose, Time};
use serde_json::{Map, Value, json};

use crate::Terminal;
use crate::cli::ExportArgs;
use crate::commands::consumer::Consumer;
use crate::commands::read::{display, read};
use crate::commands::{Failure, settings_of};
use crate::message::MessageRef;
use crate::output_file::{OutputFile, create_folder};
use crate::report::json::Json;
use crate::session::{Checked, Event, MessageEvent, Needs, Passes, Totals};
use crate::text::{counted, escaped};

/// Maximum number of requests that wait for their response.
const WAITING: usize = 1 << 12;

/// Maximum number of files.
const MOST: usize = 10_000;

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or a file not be written.
pub(super) fn run(
    args: &ExportArgs,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    if !args.tables.is_empty() {
        let why = "--format vectors writes exchanges, not tables; leave --tables out";
        return Err(Failure::Other(why.to_owned()));
    }
    // Earlier vectors would look like those of this capture.
    if std::fs::read_dir(&args.output).is_ok_and(|mut files| files.next().is_some()) {
        let folder = escaped(&args.output.to_string_lossy()).into_owned();
        return Err(Failure::Other(format!("-o {folder}: it is not empty; name a new folder")));
    }
    let config = settings_of(&args.input, err)?;
    let complete = args.complete.unwrap_or(config.complete);
    let mut vectors = Vectors { complete, ..Vectors::new(args) };
    let ran = read(&args.input, &config, &mut vectors, terminal, err, terminal.err);
    if let Err(Failure::Output(error)) = ran {
        return Err(Failure::unwritable(&args.output, &error));
    }
    ran?;
    let (folder, files) = (args.output.to_string_lossy(), vectors.written);
    writeln!(err, "gamewire: wrote {} to {}", counted(files as u64, "exchange"), escaped(&folder))
        .ok();
    if vectors.left_out > 0 {
        let more = counted(vectors.left_out, "exchange");
        let help = "choose some with -Y, --host or --flow";
        writeln!(err, "gamewire: warning: {more} more than {MOST} are not written; {help}").ok();
    }
    Ok(())
}

/// A request that waits, or an answered one.
struct Asked {
    time: Time,
    message: &'static str,
    shown: Value,
    rules: Rules,
    is_answered: bool,
}

/// The worst verdict of each rule.
type Rules = BTreeMap<String, &'static str>;

/// A rule that held, and all verdicts from the best to the worst.
const PASS: &str = "pass";
const VERDICTS: [&str; 4] = [PASS, "note", "inconclusive", "fail"];

struct Vectors<'a> {
    args: &'a ExportArgs,
    complete: bool,
    json: Json,
    capture: String,
    /// By packet, and place in it, in the order of the capture.
    waiting: BTreeMap<(u64, usize), Asked>,
    written: usize,
    left_out: u64,
}

impl<'a> Vectors<'a> {
    fn new(args: &'a ExportArgs) -> Vectors<'a> {
        Vectors {
            args,
            complete: false,
            json: Json::new(false),
            capture: String::new(),
            waiting: BTreeMap::new(),
            written: 0,
            left_out: 0,
        }
    }

    fn message(&mut self, event: &MessageEvent<'_>) -> io::Result<()> {
        let message = event.to_ref();
        if message.tree.is_none() || message.copy_of.is_some() {
            return Ok(());
        }
        let shown = self.shown(&message)?;
        if let Some(reply) = message.reply
            && let Some(asked) = asked_in(&mut self.waiting, reply.request)
        {
            asked.is_answered = true;
            add(&mut asked.rules, &message.checked);
            let vector = vector(&self.capture, &message, asked, shown);
            let (request, response) = (asked.message, message.name());
            let name = format!("{}-{request}-{response}", message.protocol_name());
            return self.write(&name, &vector);
        }
        if message.purpose().is_some_and(Purpose::is_request) {
            let mut rules = Rules::new();
            add(&mut rules, &message.checked);
            let (Payload { time, frame, .. }, message) = (message.payload, message.name());
            let place = self.waiting.range((frame, 0)..=(frame, usize::MAX)).count();
            let asked = Asked { time, message, shown, rules, is_answered: false };
            self.waiting.insert((frame, place), asked);
            if self.waiting.len() > WAITING {
                self.waiting.pop_first();
            }
        }
        Ok(())
    }

    /// One message: what it is, its bytes, its fields.
    fn shown(&mut self, message: &MessageRef<'_>) -> io::Result<Value> {
        let mut fields = String::new();
        self.json.fields(message, &mut fields);
        let fields: Value = serde_json::from_str(&fields)?;
        let payload = &message.payload;
        let bytes: String = payload.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let time = jiff::Timestamp::from_nanosecond(payload.time.0.into()).unwrap_or_default();
        Ok(json!({
            "message": message.name(),
            "frame": payload.frame,
            "time": time.to_string(),
            "bytes": bytes,
            "decompressed": payload.inflated,
            "fields": fields,
        }))
    }

    fn write(&mut self, name: &str, vector: &Value) -> io::Result<()> {
        if self.written >= MOST {
            self.left_out += 1;
            return Ok(());
        }
        self.written += 1;
        let name = format!("{:04}-{name}.json", self.written);
        let mut file = OutputFile::create(&self.args.output.join(name))?;
        serde_json::to_writer_pretty(&mut file, vector)?;
        file.write_all(b"\n")?;
        file.put()
    }
}

/// The request in this packet that is answered: if it has several, the first one that was not answered so far.
fn asked_in(waiting: &mut BTreeMap<(u64, usize), Asked>, frame: u64) -> Option<&mut Asked> {
    let of_packet = || (frame, 0)..=(frame, usize::MAX);
    let first = waiting.range(of_packet()).find(|(_, asked)| !asked.is_answered);
    let place = first.or_else(|| waiting.range(of_packet()).next_back()).map(|(place, _)| *place);
    waiting.get_mut(&place?)
}

fn vector(capture: &str, message: &MessageRef<'_>, asked: &Asked, mut response: Value) -> Value {
    let after = message.payload.time.since(asked.time) as f64 / 1e9;
    response["after"] = json!(after);
    let rules = asked.rules.iter().map(|(rule, verdict)| (rule.clone(), json!(verdict)));
    json!({
        "capture": capture,
        "protocol": message.protocol_name(),
        "kind": asked.message,
        "transport": message.payload.transport.name(),
        "request": asked.shown,
        "response": response,
        "rules": Map::from_iter(rules),
    })
}

/// Adds the results of a message to those of its exchange.
fn add(rules: &mut Rules, checked: &Checked<'_>) {
    let passes = checked.passes.iter().map(|it| (it.rule, PASS));
    let found = checked.without_texts().map(|it| (it.rule, it.verdict.name()));
    let rank = |verdict: &str| VERDICTS.iter().position(|it| *it == verdict);
    for (rule, verdict) in passes.chain(found) {
        let worst = rules.entry(rule.code.to_string()).or_insert(verdict);
        if rank(verdict) > rank(worst) {
            *worst = verdict;
        }
    }
}

impl Consumer for Vectors<'_> {
    fn needs(&self) -> Needs {
        Needs { passes: Passes::All, ..Needs::messages_with_fields() }
    }

    fn complete(&self) -> bool {
        self.complete
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        create_folder(&self.args.output)?;
        self.waiting.clear();
        let first = self.args.input.files.first();
        let name = name.map(str::to_owned).or_else(|| first.map(|file| display(file)));
        let name = name.unwrap_or_default();
        let file = Path::new(&name).file_name().unwrap_or_default();
        self.capture = file.to_string_lossy().into_owned();
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Message(message) => self.message(message),
            _ => Ok(()),
        }
    }

    fn end(&mut self, _: &mut Totals) -> io::Result<()> {
        Ok(())
    }
}
