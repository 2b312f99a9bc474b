//! What the developers' tools share with tests and benchmarks; [`captures`] makes their captures.
//!
//! - [`callgrind`] counts the instructions of a program, [`fixed_limits`] finds limits in the code.

pub mod callgrind;
pub mod fixed_limits;

/// Parts of pages that gamewire generates: the page, the name of the part in it, and the arguments. Without
/// arguments, it is the table of [`fixed_limits`].
pub const PARTS: [(&str, &str, &[&str]); 4] = [
    ("docs/answers.md", "causes", &["docs", "causes"]),
    ("docs/limits.md", "limits", &["docs", "limits"]),
    ("docs/limits.md", "fixed limits", &[]),
    ("docs/tables.md", "tables", &["docs", "tables"]),
];

/// A page with this text as the part between the lines `<!-- PART -->` and `<!-- end of PART -->`. `None`
/// if it lacks one of them.
pub fn with_part(page: &str, part: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- end of {part} -->\n"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{text}{end}{after}"))
}

/// The captures whose exchanges are in `samples/vectors`, where gamewire writes them.
pub const VECTORS: [&str; 6] = [
    "samples/a2s-info-players-rules.pcap",
    "samples/a2s-the-ship.pcap",
    "samples/gamespy4-ut3.pcap",
    "samples/gamespy1-query.pcap",
    "samples/valve-master-list.pcap",
    "samples/acr-master.pcap",
];

/// The pages that gamewire generates, and the arguments for it. Tests of the documentation compare the pages
/// by the same list.
pub const PAGES: [(&str, &[&str]); 3] = [
    ("docs/rules.md", &["rules", "--no-config", "--format", "markdown"]),
    ("docs/fields.md", &["fields", "--format", "markdown"]),
    ("docs/coverage.md", &["rules", "--coverage", "--no-config", "--format", "markdown"]),
];
