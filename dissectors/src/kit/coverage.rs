//! Coverage of a specification: each of its statements, and what in this program covers it.

/// The statements of a protocol's specification, in its order.
pub struct Coverage {
    /// The number of sentences in the specification as it was read: a line, or a part of a line
    /// that ends with a full stop.
    pub sentences: u16,
    /// CRC-32 of these sentences, joined by line feeds.
    pub crc32: u32,
    /// Sentences that state nothing: headings, column titles, navigation.
    pub headings: &'static [Sentences],
    /// The sections, with their statements.
    pub sections: &'static [Section],
}

impl Coverage {
    /// Whether this is the table of a specification with this text.
    pub fn is_of(&self, text: &str) -> bool {
        let sentences = sentences(text);
        sentences.len() == usize::from(self.sentences)
            && crc32fast::hash(sentences.join("\n").as_bytes()) == self.crc32
    }

    /// Its statements, in order.
    pub fn statements(&self) -> impl Iterator<Item = &'static Statement> {
        self.sections.iter().flat_map(|section| section.statements)
    }
}

/// The first and the last of some sentences, counted from 1.
pub type Sentences = (u16, u16);

/// A section of a specification.
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// What it states.
    pub statements: &'static [Statement],
}

/// What some sentences of a specification state.
pub struct Statement {
    /// The statement in other words.
    pub says: &'static str,
    /// What covers it.
    pub covered: Covered,
    /// The sentences that state it.
    pub sentences: &'static [Sentences],
}

/// What covers a statement.
pub enum Covered {
    /// These places.
    By(&'static [Place]),
    /// Nothing, because captures do not show it, for this reason.
    NotInPackets(&'static str),
}

/// A part of this program that shows or judges what a specification states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The rule with this code.
    Rule(&'static str),
    /// The field, message or protocol with this path.
    Field(&'static str),
    /// The item of `diagnose` with this name.
    Item(&'static str),
    /// A command, and what it shows.
    Command(&'static str, &'static str),
}

/// A statement that these places cover.
pub const fn covered(
    says: &'static str,
    by: &'static [Place],
    sentences: &'static [Sentences],
) -> Statement {
    Statement { says, covered: Covered::By(by), sentences }
}

/// A statement that captures do not show, for this reason.
pub const fn not_in_packets(
    says: &'static str,
    reason: &'static str,
    sentences: &'static [Sentences],
) -> Statement {
    Statement { says, covered: Covered::NotInPackets(reason), sentences }
}

/// The sentences of a text: its lines, divided after full stops, without those that have no word.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    for line in text.split('\n').map(str::trim) {
        let mut rest = line;
        while let Some((sentence, others)) = first_sentence(rest) {
            sentences.push(sentence);
            rest = others;
        }
        sentences.push(rest);
    }
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    sentences
}

/// The first sentence of several, and the others: they begin with a space and a capital letter.
fn first_sentence(line: &str) -> Option<(&str, &str)> {
    let ends = |part: &[u8]| matches!(part, [b'.' | b'!' | b'?', b' ', capital] if capital.is_ascii_uppercase());
    let end = line.as_bytes().windows(3).position(ends)?;
    Some((line.get(..=end)?, line.get(end + 2..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_divided_into_sentences() {
        let text = "One. Two e.g. this!\n | \nIs it? It is.\n";
        assert_eq!(sentences(text), ["One.", "Two e.g. this!", "Is it?", "It is."]);
    }
}
