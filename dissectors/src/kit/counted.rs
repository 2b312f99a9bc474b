//! Counts with their nouns, in singular or plural.

/// `1 byte`, `2 bytes`. If the plural is not formed with `s`, `noun` has both forms, divided by
/// `/`: `entry/entries`, `byte is/bytes are`.
pub fn counted(count: usize, noun: &str) -> String {
    match (count, noun.split_once('/')) {
        (1, Some((one, _))) => format!("1 {one}"),
        (_, Some((_, many))) => format!("{count} {many}"),
        (1, None) => format!("1 {noun}"),
        (_, None) => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_and_verbs_agree_with_their_numbers() {
        let written = |noun| [0, 1, 2].map(|count| counted(count, noun)).join(", ");
        assert_eq!(written("byte"), "0 bytes, 1 byte, 2 bytes");
        assert_eq!(written("entry/entries"), "0 entries, 1 entry, 2 entries");
        assert_eq!(written("byte is/bytes are"), "0 bytes are, 1 byte is, 2 bytes are");
    }
}
