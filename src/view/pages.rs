//! Texts that fill the screen: the explanation of a rule, and the difference of two messages.

use dissectors::catalogue;
use dissectors::kit::{Rule, Severity, Time};

use super::list::ListCursor;
use super::opened::OpenedMessage;
use super::tabs::Tab;
use super::{Model, Screen, View};
use crate::report::TimeStyle;
use crate::report::check::rules;
use crate::report::paint::{Paint, Tone};
use crate::report::text::FieldLine;
use crate::text::shortened;

/// A page.
pub(super) struct Page {
    content: PageContent,
    /// The times of two messages.
    times: [String; 2],
    width: usize,
    lines: Vec<(Option<Tone>, String)>,
    /// The selected line.
    pub(super) list: ListCursor,
}

enum PageContent {
    /// A rule, with its severity in this project.
    Rule(&'static Rule, Severity),
    /// Two messages.
    Difference(Box<[OpenedMessage; 2]>),
}

impl Page {
    fn of(content: PageContent) -> Page {
        let (times, lines, list) = (Default::default(), Vec::new(), ListCursor::default());
        Page { content, times, width: 0, lines, list }
    }

    /// What differs between two messages.
    fn difference(one: OpenedMessage, other: OpenedMessage) -> Page {
        Page::of(PageContent::Difference(Box::new([one, other])))
    }

    /// Writes times in this style, that of the second of two messages relative to that of the first one.
    pub(super) fn write_times(&mut self, style: TimeStyle, model: &Model) {
        if let PageContent::Difference(messages) = &self.content {
            let [one, other] = &**messages;
            let time = |message: &OpenedMessage, before: Option<Time>| {
                model.time_of_message(style, message.time, message.digits, before)
            };
            self.times = [time(one, None), time(other, Some(one.time))];
            self.width = 0;
        }
    }

    /// Makes the lines for this many columns.
    pub(super) fn fit(&mut self, width: usize) {
        if self.width == width && !self.lines.is_empty() {
            return;
        }
        self.width = width;
        self.lines = match &self.content {
            PageContent::Rule(rule, severity) => explained(rule, *severity, Some(width)),
            PageContent::Difference(messages) => compared(messages, &self.times, width),
        };
        self.list.set_length(self.lines.len());
    }

    /// A line.
    pub(super) fn line(&self, at: usize) -> Option<(Option<Tone>, &str)> {
        self.lines.get(at).map(|(tone, line)| (*tone, &**line))
    }

    /// All of it.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|(_, line)| format!("{line}\n")).collect()
    }
}

/// The text of `gamewire explain`.
fn explained(rule: &Rule, severity: Severity, width: Option<usize>) -> Vec<(Option<Tone>, String)> {
    let mut text = String::new();
    rules::explain(rule, severity, Paint::new(false), width, &mut text);
    let lines = text.lines().enumerate();
    let tone = |at| (at == 0).then_some(Tone::Good);
    lines.map(|(at, line)| (tone(at), line.to_owned())).collect()
}

/// Two messages, field by field: those that differ are marked.
fn compared(
    [one, other]: &[OpenedMessage; 2],
    times: &[String; 2],
    width: usize,
) -> Vec<(Option<Tone>, String)> {
    let half = (width.saturating_sub(3) / 2).max(1);
    let cut = |text: &str| {
        let text = shortened(text, half).into_owned();
        let room = half.saturating_sub(text.chars().count());
        text + &" ".repeat(room)
    };
    let line = |mark: char, left: &str, right: &str| {
        format!("{mark} {} {}", cut(left), cut(right)).trim_end().to_owned()
    };
    let mut lines =
        vec![(Some(Tone::Message), line(' ', &one.head(&times[0]), &other.head(&times[1])))];
    let pairs = paired(&one.fields, &other.fields);
    let differing = pairs.iter().filter(|(left, right)| differs(*left, *right)).count();
    for (left, right) in pairs {
        let [left_text, right_text] = [left, right].map(|field| field.map_or(String::new(), shown));
        let (mark, tone) = match differs(left, right) {
            true => ('*', Some(Tone::Label)),
            false => (' ', None),
        };
        lines.push((tone, line(mark, &left_text, &right_text)));
    }
    let says = match differing {
        0 => "No field differs.".to_owned(),
        1 => "1 field differs: it is marked with *.".to_owned(),
        many => format!("{many} fields differ: they are marked with *."),
    };
    lines.insert(1, (Some(Tone::Faint), says));
    lines
}

fn shown(field: &FieldLine) -> String {
    " ".repeat(2 * field.depth) + field.label + &field.text
}

/// Whether two fields in the same place differ. Findings are about other messages, too.
fn differs(one: Option<&FieldLine>, other: Option<&FieldLine>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.text != other.text || one.label != other.label,
        (None, None) => false,
        _ => true,
    }
}

/// The fields of two messages, those with the same label beside each other: of fields that only one has, there is
/// nothing beside them.
fn paired<'f>(
    one: &'f [FieldLine],
    other: &'f [FieldLine],
) -> Vec<(Option<&'f FieldLine>, Option<&'f FieldLine>)> {
    let is_field = |it: &&FieldLine| it.finding.is_none();
    let (one, other) = (one.iter().filter(is_field), other.iter().filter(is_field));
    let (one, mut other) = (Vec::from_iter(one), Vec::from_iter(other).into_iter().peekable());
    let mut pairs = Vec::new();
    for (at, field) in one.iter().enumerate() {
        let is_same = |it: &&FieldLine| it.label == field.label && it.depth == field.depth;
        if let Some(same) = other.next_if(is_same) {
            pairs.push((Some(*field), Some(same)));
            continue;
        }
        // Those of the other one that this one has nowhere else come first.
        let later = one.get(at + 1..).unwrap_or_default();
        let is_later = |it: &&FieldLine| later.iter().any(|field| field.label == it.label);
        while let Some(only) = other.next_if(|it| !is_same(it) && !is_later(it)) {
            pairs.push((None, Some(only)));
        }
        pairs.push((Some(*field), other.next_if(is_same)));
    }
    pairs.extend(other.map(|only| (None, Some(only))));
    pairs
}

impl View {
    /// Explains the rule that the selected line names.
    pub(super) fn explain(&mut self, model: &Model) {
        let rule = self.selected_text(model).and_then(|text| rule_in(&text));
        match rule {
            Some(rule) => {
                let severity = model.severity(rule);
                let page = Page::of(PageContent::Rule(rule, severity));
                self.screens.push(Screen::Page(Box::new(page)));
            }
            None => self.say("the selected line names no rule; e explains one", false),
        }
    }

    /// Marks the open message, to compare it with another one.
    pub(super) fn remember(&mut self) {
        match self.screens.last() {
            Some(Screen::Message(screen)) => {
                self.compared = Some(screen.opened.clone());
                self.say("marked; d compares another open message with this one", false);
            }
            _ => self.say("m marks an open message; d compares another one with it", false),
        }
    }

    /// Compares the open message with the marked one.
    pub(super) fn compare(&mut self, model: &Model) {
        match (self.screens.last(), &self.compared) {
            (Some(Screen::Message(screen)), Some(marked)) => {
                let mut page = Page::difference(marked.clone(), screen.opened.clone());
                page.write_times(self.time, model);
                self.screens.push(Screen::Page(Box::new(page)));
            }
            (Some(Screen::Message(_)), None) => self.say("first, m marks another message", false),
            _ => self.say("d compares an open message with the one that m marked", false),
        }
    }

    /// The selected line, which may name a rule.
    fn selected_text(&self, model: &Model) -> Option<String> {
        match self.screens.last() {
            Some(Screen::Ladder(screen)) => screen.selected_text(),
            Some(Screen::Message(screen)) => {
                let at = screen.list.selected()?;
                screen.opened.fields.get(at).map(shown)
            }
            Some(Screen::Page(_)) => None,
            None if self.tab == Tab::Answer => {
                let at = self.lists[self.tab as usize].selected()?;
                self.answer.line_text(at).map(str::to_owned)
            }
            None => self.row(self.lists[self.tab as usize].selected()?, model).map(|it| it.whole),
        }
    }
}

/// The first rule whose code is in a text.
fn rule_in(text: &str) -> Option<&'static Rule> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.find_map(|word| {
        let mut rules = catalogue::rules();
        rules.retain(|rule| rule.code.to_string() == word);
        rules.pop()
    })
}
