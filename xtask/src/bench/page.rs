//! Tables, and their page, which has them between comments.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

/// The page.
const PAGE: &str = "docs/performance.md";

/// A table in Markdown; columns of numbers are aligned to the right.
#[derive(Clone, Debug)]
pub(super) struct Table {
    text: String,
    columns: usize,
}

impl Table {
    /// A table whose first columns are texts.
    pub(super) fn new(texts: usize, heads: &[&str]) -> Self {
        let mut table = Self { text: String::new(), columns: heads.len() };
        table.row(heads);
        let line = |column| if column < texts { "---|" } else { "--:|" };
        let lines: String = (0..heads.len()).map(line).collect();
        table.text += &format!("|{lines}\n");
        table
    }

    /// # Panics
    /// If the table has another number of columns.
    pub(super) fn row<T: AsRef<str>>(&mut self, cells: &[T]) {
        assert_eq!(cells.len(), self.columns, "cells of a row");
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        self.text += &format!("| {} |\n", cells.join(" | "));
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// New texts of the page's sections.
#[derive(Debug, Default)]
pub(super) struct Page {
    sections: Vec<(&'static str, String)>,
}

impl Page {
    /// Sets the text between the comments of this name.
    pub(super) fn section(&mut self, name: &'static str, text: String) {
        self.sections.push((name, text));
    }

    /// Prints all sections.
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.sections.iter().try_for_each(|(name, text)| writeln!(out, "\n## {name}\n\n{text}"))
    }

    /// Writes all sections into the page.
    pub(super) fn write(&self, root: &Path, out: &mut dyn Write) -> io::Result<()> {
        let path = root.join(PAGE);
        let mut page = fs::read_to_string(&path)?;
        for (name, text) in &self.sections {
            page = replaced(&page, name, text).ok_or_else(|| {
                io::Error::other(format!("{PAGE} lacks the comments of the section {name}"))
            })?;
        }
        fs::write(&path, page)?;
        writeln!(out, "wrote {PAGE}")
    }
}

/// The page with another text between `<!-- name -->` and `<!-- /name -->`.
fn replaced(page: &str, name: &str, text: &str) -> Option<String> {
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = page.split_once(&open)?;
    let (_, after) = rest.split_once(&close)?;
    Some(format!("{before}{open}\n{}\n\n{close}{after}", text.trim_end()))
}

/// Describes this machine, and the measured program.
pub(super) fn machine(gamewire: &Path) -> io::Result<String> {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or("unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism()?;
    let memory = field("/proc/meminfo", "MemTotal");
    let memory = memory.split(' ').next().and_then(|kib| kib.parse::<u64>().ok());
    let memory = memory.map_or("?".to_owned(), |kib| kib.div_ceil(1 << 20).to_string());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version = Command::new(gamewire).arg("--version").output()?.stdout;
    Ok(format!(
        "{}, {cores} cores, {memory} GiB of memory, Linux {}; {}.",
        field("/proc/cpuinfo", "model name"),
        kernel.trim(),
        String::from_utf8_lossy(&version).trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_section_is_replaced() {
        let page = "a\n<!-- time -->\nold\n<!-- /time -->\nz <!-- grow -->\n<!-- /grow -->\n";
        let new = replaced(page, "time", "| new |\n").unwrap();
        let expected =
            "a\n<!-- time -->\n\n| new |\n\n<!-- /time -->\nz <!-- grow -->\n<!-- /grow -->\n";
        assert_eq!(new, expected);
        assert_eq!(replaced(&new, "time", "| new |\n").unwrap(), new);
        assert_eq!(replaced(page, "memory", ""), None);
    }

    #[test]
    fn the_page_has_all_sections() {
        let page = include_str!("../../../docs/performance.md");
        let names = [
            "machine",
            "inputs",
            "time",
            "cpu",
            "memory",
            "instructions",
            "misses",
            "grow",
            "corners",
        ];
        for name in names {
            assert!(replaced(page, name, "").is_some(), "{name}");
        }
    }

    #[test]
    fn tables_are_markdown() {
        let mut table = Table::new(1, &["program", "a2s"]);
        table.row(&["cat", "1.0"]);
        assert_eq!(table.text(), "| program | a2s |\n|---|--:|\n| cat | 1.0 |\n");
    }
}
