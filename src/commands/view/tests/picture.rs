//! The picture in the README: what the program draws, as SVG.

use std::fmt::Write;
use std::path::Path;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::TestUser;

/// The size of a cell.
const CELL: [f64; 2] = [8.4, 18.0];

/// The size of each of the screens.
const SCREEN: (u16, u16) = (100, 15);

#[test]
fn the_picture_in_the_documentation_is_up_to_date() {
    let mut user = TestUser::with(&["samples/a2s-quirks.pcap"]);
    user.keys(&["Down", "Down", "Down", "Down", "Down"]);
    let mut screens = vec![user.buffer(SCREEN.0, SCREEN.1)];
    user.keys(&["Enter"]);
    screens.push(user.buffer(SCREEN.0, SCREEN.1));
    user.keys(&["End", "Enter", "Down", "Down", "Down", "Down", "Down", "Down"]);
    screens.push(user.buffer(SCREEN.0, SCREEN.1));
    let drawn = svg(&screens);
    assert!(drawn.len() < 150_000, "{}", drawn.len());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images/view.svg");
    // As snapshots are written.
    if std::env::var("INSTA_UPDATE").is_ok_and(|it| it == "always") {
        std::fs::write(&file, &drawn).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(there == drawn, "INSTA_UPDATE=always writes docs/images/view.svg anew");
}

/// Screens, one below the other.
fn svg(screens: &[Buffer]) -> String {
    let height = f64::from(SCREEN.1) * CELL[1];
    let (all, width) =
        ((height + 10.0) * screens.len() as f64 - 10.0, f64::from(SCREEN.0) * CELL[0]);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {all:.0}\" role=\"img\" \
         aria-label=\"gamewire view: conversations, a ladder, a message\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\">\n"
    );
    for (nth, screen) in screens.iter().enumerate() {
        let top = (height + 10.0) * nth as f64;
        writeln!(out, "<rect y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#1d1f21\"/>")
            .unwrap();
        for row in 0..SCREEN.1 {
            runs(screen, row, top + f64::from(row) * CELL[1], &mut out);
        }
    }
    out + "</svg>\n"
}

/// Cells that look alike, together.
fn runs(screen: &Buffer, row: u16, y: f64, out: &mut String) {
    let cells: Vec<&Cell> = (0..SCREEN.0).map(|x| &screen[(x, row)]).collect();
    let mut x = 0;
    for run in cells.chunk_by(|a, b| a.style() == b.style()) {
        let text: String = run.iter().map(|cell| cell.symbol()).collect();
        let (left, width) = (f64::from(x) * CELL[0], run.len() as f64 * CELL[0]);
        x += run.len() as u16;
        let Look { text: colour, below, style } = Look::of(run[0]);
        if let Some(below) = below {
            writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"{below}\"/>",
                CELL[1]
            )
            .unwrap();
        }
        let shown = text.trim_end();
        if shown.is_empty() {
            continue;
        }
        let length = shown.chars().count() as f64 * CELL[0];
        let shown = shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        writeln!(
            out,
            "<text x=\"{left:.1}\" y=\"{}\" textLength=\"{length:.1}\" xml:space=\"preserve\" \
             fill=\"{colour}\"{style}>{shown}</text>",
            y + 13.5
        )
        .unwrap();
    }
}

struct Look {
    text: &'static str,
    below: Option<&'static str>,
    style: &'static str,
}

impl Look {
    fn of(cell: &Cell) -> Look {
        let (text, below) =
            (colour(cell.fg), Some(colour(cell.bg)).filter(|_| cell.bg != Color::Reset));
        let reversed = cell.modifier.contains(Modifier::REVERSED);
        let style = match cell.modifier {
            it if it.contains(Modifier::BOLD) => " font-weight=\"bold\"",
            it if it.contains(Modifier::DIM) => " opacity=\"0.65\"",
            it if it.contains(Modifier::UNDERLINED) => " text-decoration=\"underline\"",
            _ => "",
        };
        match reversed {
            true => Look { text: below.unwrap_or("#1d1f21"), below: Some(text), style },
            false => Look { text, below, style },
        }
    }
}

fn colour(colour: Color) -> &'static str {
    match colour {
        Color::Black => "#1d1f21",
        Color::Indexed(160) => "#f27878",
        Color::Indexed(28) => "#8fc97a",
        Color::Yellow | Color::Indexed(130) => "#f0c674",
        Color::Indexed(32) => "#81a2e8",
        Color::Indexed(133) => "#c99be0",
        Color::Indexed(30) => "#7cc7c0",
        _ => "#d8dadb",
    }
}
