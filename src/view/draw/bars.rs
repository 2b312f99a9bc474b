//! The first and the last line: tabs, and the state of reading.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::Line;

use super::theme::Theme;
use crate::report::paint::Tone;
use crate::text::{counted, grouped, shortened};
use crate::view::tabs::{Tab, TabCounts};
use crate::view::{Model, ReadingProgress, View};

/// The tabs, and the name of what is read.
pub(super) fn draw_title(
    frame: &mut Frame<'_>,
    view: &mut View,
    model: &Model,
    theme: Theme,
    area: Rect,
) {
    let TabCounts { conversations, servers, findings, messages } = view.counts;
    let counts = [None, Some(conversations), Some(servers), Some(findings), Some(messages)];
    let texts = titles(view.tab, counts, area.width);
    let mut x = area.x;
    for (at, (tab, text)) in Tab::ALL.into_iter().zip(texts).enumerate() {
        let width = (text.len() as u16).min(area.right().saturating_sub(x));
        let place = Rect { x, width, ..area };
        let style = if tab == view.tab {
            theme.tone(Tone::Message).add_modifier(Modifier::REVERSED)
        } else {
            theme.tone(Tone::Endpoints)
        };
        frame.render_widget(Line::styled(text, style), place);
        view.areas.tabs[at] = place;
        x += width + 1;
    }
    let first = model.index.name_of(0);
    let name = match model.index.captures().len() {
        0..=1 => first.to_owned(),
        all => format!("{first} and {} more", all - 1),
    };
    let rest = Rect { x: x.min(area.right()), width: area.right().saturating_sub(x), ..area };
    let name = shortened(&name, rest.width.into()).into_owned();
    frame.render_widget(Line::styled(name, theme.tone(Tone::Faint)).right_aligned(), rest);
}

/// Progress of reading, counts, and a hint about keys.
pub(super) fn draw_status(
    frame: &mut Frame<'_>,
    view: &View,
    model: &Model,
    theme: Theme,
    area: Rect,
) {
    let hint = "? keys  q quit";
    let room = usize::from(area.width).saturating_sub(hint.len() + 1);
    let text = shortened(&status(view, model).join(", "), room).into_owned();
    let style = theme.bar();
    frame.buffer_mut().set_style(area, style);
    frame.render_widget(Line::styled(text, style), area);
    let [_, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(hint.len() as u16)])
            .areas(area);
    frame.render_widget(Line::styled(hint, style), right);
}

/// What the bar says: how far reading is, and what is not shown.
fn status(view: &View, model: &Model) -> Vec<String> {
    let mut parts = Vec::new();
    match model.reading {
        ReadingProgress::Files(Some(share)) => {
            parts.push(format!("reading {:.0} %", share * 100.0))
        }
        ReadingProgress::Files(None) => parts.push("reading".to_owned()),
        ReadingProgress::Live => parts.push("live".to_owned()),
        ReadingProgress::Over => {}
    }
    if let Some((what, share)) = view.waiting {
        parts.push(format!("{what} {:.0} % (Esc gives up)", share * 100.0));
    }
    let messages = counted(model.index.messages(), "message");
    parts.push(match model.matches {
        Some(_) => format!("{} of {messages}", grouped(view.counts.messages as u64)),
        None => messages,
    });
    if model.index.let_go() > 0 {
        parts.push(format!(
            "{} dropped (--memory)",
            counted(model.index.let_go(), "old conversation")
        ));
    }
    if model.messages.let_go() > 0 {
        parts.push(format!(
            "{} not listed (--memory)",
            counted(model.messages.let_go(), "older message")
        ));
    }
    if let Some((kept, let_go)) = model.kept.filter(|(_, let_go)| *let_go > 0) {
        parts.push(format!(
            "{} kept, {} older dropped (--memory)",
            counted(kept, "packet"),
            grouped(let_go)
        ));
    }
    if model.summary().servers.is_cut || model.summary().masters.is_cut {
        parts.push("more servers than fit (--memory)".to_owned());
    }
    if view.waiting.is_none() && model.matches.as_ref().is_some_and(|it| !it.is_complete) {
        parts.push("not all of it was looked at with the filter".to_owned());
    }
    if !view.marked.is_empty() {
        parts.push(format!("{} marked", grouped(view.marked.len() as u64)));
    }
    if model.left_out() > 0 {
        parts.push(format!("{} only counted", counted(model.left_out(), "finding")));
    }
    if let Some(note) = model.notes.last().filter(|_| model.reading != ReadingProgress::Live) {
        parts.push(note.trim_start_matches("gamewire: ").to_owned());
    }
    parts
}

/// The titles of all tabs with their counts; where there is no room for these, only the shown tab has its own.
fn titles(shown: Tab, counts: [Option<usize>; Tab::ALL.len()], width: u16) -> Vec<String> {
    let title = |at: usize, tab: Tab, has_count: bool| {
        let count = counts[at].filter(|_| has_count || tab == shown);
        let count = count.map_or(String::new(), |count| grouped(count as u64) + " ");
        format!(" {} {} {count}", at + 1, tab.title())
    };
    let all = |has_counts: bool| -> Vec<String> {
        Tab::ALL.into_iter().enumerate().map(|(at, tab)| title(at, tab, has_counts)).collect()
    };
    let whole = all(true);
    let taken: usize = whole.iter().map(|text| text.len() + 1).sum();
    if taken <= usize::from(width) + 1 { whole } else { all(false) }
}
