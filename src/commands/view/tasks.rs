//! Long tasks: each has a thread of its own, and is cancelled when the next one of its kind begins.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use roaring::RoaringBitmap;

use super::again::{CaptureAgain, TaskControl, WantedConversations};
use crate::capture::write::PcapNgWriter;
use crate::check::Reviewer;
use crate::commands::{Failure, extract};
use crate::filter::Filter;
use crate::output_file::OutputFile;
use crate::report::Envelope;
use crate::rows::ConversationRow;
use crate::session::{Event, Findings, Messages, Needs};
use crate::summary::Summary;
use crate::text::{counted, escaped};
use crate::view::{CaptureAnswer, Chosen, Matches, OpenedConversation, OpenedMessage, TaskReply};

/// The interval at which a filter checks whether a capture has begun.
const WAIT: Duration = Duration::from_millis(50);

/// Starts tasks, and sends their results.
pub(super) struct Tasks {
    again: CaptureAgain,
    replies: Sender<(Arc<AtomicBool>, TaskReply)>,
    /// Whether the latest task, and the latest filter, were cancelled.
    latest: Arc<AtomicBool>,
    filtering: Arc<AtomicBool>,
}

/// The inputs of a task.
pub(super) struct Task {
    again: CaptureAgain,
    cancel: Arc<AtomicBool>,
    replies: Sender<(Arc<AtomicBool>, TaskReply)>,
}

impl Tasks {
    pub(super) fn new(again: CaptureAgain, replies: Sender<(Arc<AtomicBool>, TaskReply)>) -> Tasks {
        let (latest, filtering) = (Arc::default(), Arc::default());
        Tasks { again, replies, latest, filtering }
    }

    /// Cancels the task.
    pub(super) fn cancel(&self) {
        self.latest.store(true, Ordering::Relaxed);
        self.filtering.store(true, Ordering::Relaxed);
    }

    pub(super) fn ladder(&mut self, conversations: RoaringBitmap, frame: Option<u64>) {
        self.start(move |task| task.ladder(conversations, frame));
    }

    pub(super) fn message(&mut self, conversations: RoaringBitmap, nth: u32) {
        self.start(move |task| task.message(&conversations, nth));
    }

    pub(super) fn answer(&mut self) {
        self.start(Task::answer);
    }

    pub(super) fn write(&mut self, file: String, chosen: Chosen) {
        self.start(move |task| task.write(&file, &chosen));
    }

    pub(super) fn save(&mut self, file: String, bytes: Vec<u8>) {
        self.start(move |task| task.save(&file, &bytes));
    }

    /// Finds what a filter selects; without one, everything.
    pub(super) fn filter(&mut self, filter: Option<Filter>) {
        self.filtering.store(true, Ordering::Relaxed);
        let matches = filter.clone().map(Matches::of);
        self.again.shared.lock_now().matches = matches;
        if let Some(filter) = filter {
            self.filtering = Arc::default();
            let cancel = Arc::clone(&self.filtering);
            self.spawn(cancel, move |task| task.filter(&filter));
        }
    }

    fn start(&mut self, work: impl FnOnce(&Task) -> Result<TaskReply, Failure> + Send + 'static) {
        self.latest.store(true, Ordering::Relaxed);
        self.latest = Arc::default();
        self.spawn(Arc::clone(&self.latest), work);
    }

    fn spawn(
        &self,
        cancel: Arc<AtomicBool>,
        work: impl FnOnce(&Task) -> Result<TaskReply, Failure> + Send + 'static,
    ) {
        let task = Task { again: self.again.clone(), cancel, replies: self.replies.clone() };
        std::thread::spawn(move || {
            let reply =
                work(&task).unwrap_or_else(|failure| TaskReply::Failed(failure.to_string()));
            task.send(reply);
        });
    }
}

impl Task {
    #[cfg(test)]
    pub(super) fn new(again: CaptureAgain, replies: Sender<(Arc<AtomicBool>, TaskReply)>) -> Task {
        Task { again, cancel: Arc::default(), replies }
    }

    fn send(&self, reply: TaskReply) {
        // If the receiver is gone, the result is not needed.
        self.replies.send((Arc::clone(&self.cancel), reply)).ok();
    }

    /// Runs work that reports its progress.
    fn control<T>(&self, work: impl FnOnce(&TaskControl<'_>) -> T) -> T {
        let progress = |share| self.send(TaskReply::Progress(share));
        work(&TaskControl { cancel: &self.cancel, progress: &progress })
    }

    /// Conversations by their numbers, those of each capture together.
    fn conversations(&self, numbers: &RoaringBitmap) -> Result<Vec<ConversationRow>, Failure> {
        let model = self.again.shared.lock_now();
        let all = numbers.iter().filter_map(|number| model.index.get(number));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|it| it.capture);
        let gone = || Failure::Other("this conversation is no longer kept (--memory)".to_owned());
        (!all.is_empty()).then_some(all).ok_or_else(gone)
    }

    /// Calls `each` with the messages of conversations and other events, until it returns false, and with `None`
    /// at the end of each capture.
    fn messages(
        &self,
        numbers: &RoaringBitmap,
        each: &mut dyn FnMut(Option<&Event<'_>>) -> bool,
    ) -> Result<(), Failure> {
        let findings = Findings::All { in_words: true };
        let needs = Needs {
            icmp: true,
            flows: true,
            unanswered: true,
            findings,
            ..Needs::messages_with_fields()
        };
        let mut goes_on = true;
        for all in self.conversations(numbers)?.chunk_by(|one, next| one.capture == next.capture) {
            let capture = all.first().map_or(0, |it| it.capture);
            let read_to = self.again.shared.lock_now().index.read_to(capture);
            let wanted = WantedConversations::new(all.iter().copied()).until(read_to);
            let mut of_them = |event: &Event<'_>| {
                let is_other =
                    matches!(event, Event::Message(message) if wanted.of(message).is_none());
                goes_on = is_other || each(Some(event));
                goes_on
            };
            self.control(|control| {
                self.again.decode(capture, needs, None, Some(&wanted), control, &mut of_them)
            })?;
            if !goes_on {
                break;
            }
            each(None);
        }
        Ok(())
    }

    pub(super) fn ladder(
        &self,
        numbers: RoaringBitmap,
        frame: Option<u64>,
    ) -> Result<TaskReply, Failure> {
        let mut drawn = OpenedConversation::default();
        self.messages(&numbers, &mut |event| {
            match event {
                Some(event) => drawn.event(event),
                None => drawn.end(),
            }
            true
        })?;
        if drawn.is_empty() {
            return Err(Failure::Other("its packets are no longer kept (--memory)".to_owned()));
        }
        Ok(TaskReply::Ladder(numbers, drawn, frame))
    }

    pub(super) fn message(&self, numbers: &RoaringBitmap, nth: u32) -> Result<TaskReply, Failure> {
        let (mut opened, mut count) = (None, 0);
        self.messages(numbers, &mut |event| {
            let Some(Event::Message(message)) = event else { return true };
            if count == nth {
                opened = Envelope::of(message).map(|envelope| OpenedMessage::of(nth, &envelope));
            }
            count += 1;
            count <= nth
        })?;
        Ok(TaskReply::Message(opened))
    }

    /// Judges what is kept of a live capture so far.
    pub(super) fn answer(&self) -> Result<TaskReply, Failure> {
        let capture = self.again.shared.captures().saturating_sub(1);
        let (name, (mut checker, least)) = {
            let model = self.again.shared.lock_now();
            (model.index.name_of(capture).to_owned(), model.checker())
        };
        let setting = self.again.diagnosing();
        let (mut diagnosis, needs) = (setting.diagnosis(), self.again.needs());
        let mut read = self.control(|control| {
            self.again.decode(capture, needs, None, None, control, &mut |event| {
                checker.event(event);
                diagnosis.event(event);
                true
            })
        })?;
        // Both review the same counts, which the first one takes.
        let traffic = read.traffic.clone();
        let diagnoses = diagnosis.outcome(&mut read);
        read.traffic = traffic;
        let outcome = checker.outcome(vec![name.clone()], &mut read);
        let answer = CaptureAnswer::of(&name, diagnoses, &outcome, least, &read);
        self.again.shared.lock_now().answer_so_far(answer);
        Ok(TaskReply::Judged)
    }

    pub(super) fn filter(&self, filter: &Filter) -> Result<TaskReply, Failure> {
        let needs = Needs {
            messages: Messages::All,
            findings: Findings::OfMessages,
            fields: filter.needs_fields().then_some(Needs::messages_with_fields().fields).flatten(),
            // A flow's state is the same as when it got its number, so that numbers are equal.
            flows: true,
            ..Needs::default()
        };
        for capture in 0.. {
            let Some(first) = self.first_of(capture) else { break };
            let kept = self.kept(capture);
            let filter = Some(filter.clone());
            self.control(|control| {
                self.again.decode(capture, needs, filter, None, control, &mut |event| {
                    let Event::Message(message) = event else { return true };
                    let flow = message.context().flow.number;
                    let number = match &kept {
                        Some(kept) => kept.of(message),
                        None => first.checked_add(flow.saturating_sub(1)),
                    };
                    let Some(number) = number else { return true };
                    let mut model = self.again.shared.lock_now();
                    if self.cancel.load(Ordering::Relaxed) {
                        return false;
                    }
                    let frame = message.payload().frame;
                    model.matches.iter_mut().for_each(|matches| matches.add(number, frame));
                    true
                })
            })?;
        }
        if !self.cancel.load(Ordering::Relaxed) {
            let mut model = self.again.shared.lock_now();
            model.matches.iter_mut().for_each(|matches| matches.is_complete = true);
        }
        self.count(filter)?;
        Ok(TaskReply::Filtered)
    }

    /// Counts what the selected messages show of servers, as `summary` does. While packets still come, all is counted.
    fn count(&self, filter: &Filter) -> Result<(), Failure> {
        let (mut summary, ledger_settings) = {
            let model = self.again.shared.lock_now();
            (model.summary_of_matches(), model.ledger_settings())
        };
        for capture in 0..self.again.shared.captures() {
            if !self.again.shared.is_read() && self.again.shared.is_kept(capture) {
                return Ok(());
            }
            let mut totals = self.control(|control| {
                let needs = Summary::needs(true);
                self.again.decode(capture, needs, None, None, control, &mut |event| {
                    summary.event(event, event.is_wanted(Some(filter)));
                    !self.cancel.load(Ordering::Relaxed)
                })
            })?;
            summary.settle(&Reviewer::new(ledger_settings, false).end(&mut totals).0);
        }
        let mut model = self.again.shared.lock_now();
        if let Some(matches) = &mut model.matches
            && !self.cancel.load(Ordering::Relaxed)
        {
            matches.count(summary);
        }
        Ok(())
    }

    /// The number of a capture's first conversation; waits until the capture has begun.
    fn first_of(&self, capture: usize) -> Option<u32> {
        loop {
            let (first, is_over) = {
                let model = self.again.shared.lock_now();
                (model.index.first_of(capture), self.again.shared.is_read())
            };
            if first.is_some() || is_over || self.cancel.load(Ordering::Relaxed) {
                return first;
            }
            std::thread::sleep(WAIT);
        }
    }

    /// For a capture whose oldest packets may have been dropped, so that flows have other numbers:
    /// its conversations by their ends.
    fn kept(&self, capture: usize) -> Option<WantedConversations> {
        if !self.again.shared.is_kept(capture) {
            return None;
        }
        let model = self.again.shared.lock_now();
        let all = model.index.order().iter().filter_map(|&number| model.index.get(number));
        Some(WantedConversations::new(all.filter(|it| it.capture == capture)))
    }

    pub(super) fn write(&self, file: &str, chosen: &Chosen) -> Result<TaskReply, Failure> {
        let called = escaped(file).into_owned();
        let failed = |error: io::Error| {
            Failure::Other(format!("cannot write {called}: {}", self.unwritable(&error)))
        };
        let (mut all, mut messages) = (Vec::new(), 0);
        for capture in 0..self.again.shared.captures() {
            let (found, count) = self.choose(capture, chosen)?;
            messages += count;
            all.extend((count > 0).then_some((capture, found)));
        }
        if self.cancel.load(Ordering::Relaxed) || messages == 0 {
            return Err(Failure::Other("nothing was written".to_owned()));
        }
        // An existing file is not overwritten: it may be the input.
        let out = OutputFile::create_new(Path::new(file)).map_err(failed)?;
        let mut writer = PcapNgWriter::new(out).map_err(failed)?;
        let mut packets = 0;
        for (capture, found) in all {
            let first = u32::try_from(capture).unwrap_or(u32::MAX) << 16;
            let source = self.again.open(capture)?;
            packets += extract::copy(source, first, found, &mut writer).map_err(failed)?;
        }
        writer.finish().and_then(OutputFile::put).map_err(failed)?;
        let (packets, messages) = (counted(packets, "packet"), counted(messages, "message"));
        Ok(TaskReply::Done(format!("wrote {packets} of {messages} to {called}")))
    }

    pub(super) fn save(&self, file: &str, bytes: &[u8]) -> Result<TaskReply, Failure> {
        let called = escaped(file).into_owned();
        // An existing file is not overwritten.
        let written = OutputFile::create_new(Path::new(file)).and_then(|mut out| {
            out.write_all(bytes)?;
            out.put()
        });
        written.map_err(|error| {
            Failure::Other(format!("cannot write {called}: {}", self.unwritable(&error)))
        })?;
        Ok(TaskReply::Done(format!("saved the ladder to {called}")))
    }

    /// The packets of a capture to write, and the number of their messages.
    fn choose(
        &self,
        capture: usize,
        chosen: &Chosen,
    ) -> Result<(extract::Extraction, u64), Failure> {
        let (wanted, filter) = match chosen {
            Chosen::Conversations(numbers) => {
                let model = self.again.shared.lock_now();
                let all = numbers.iter().filter_map(|number| model.index.get(number));
                let mut all = all.filter(|it| it.capture == capture).peekable();
                if all.peek().is_none() {
                    return Ok(Default::default());
                }
                (Some(WantedConversations::new(all)), None)
            }
            Chosen::Messages(filter) => (None, filter.clone()),
        };
        // The positions of packets are stored with the bytes.
        let needs = Needs::messages_with_fields();
        let (mut found, mut count) = (extract::Extraction::default(), 0);
        self.control(|control| {
            self.again.decode(capture, needs, filter, wanted.as_ref(), control, &mut |event| {
                let Event::Message(message) = event else { return true };
                if wanted.as_ref().is_none_or(|wanted| wanted.of(message).is_some()) {
                    found.add(&message.payload());
                    count += 1;
                }
                true
            })
        })?;
        Ok((found, count))
    }

    /// Why a file cannot be written, and what to do.
    fn unwritable(&self, error: &io::Error) -> String {
        let is_live = self.again.input.live.interface.is_some();
        match error.kind() {
            io::ErrorKind::PermissionDenied if is_live => format!(
                "{error}; a live capture may only write in the folder of -w FILE, as the user that \
                 -Z names"
            ),
            _ => crate::why::unwritable(error).into_owned(),
        }
    }
}
