//! Kinds of requests in the words of people who run servers.

use crate::abuse::plural;

/// Requests of a kind: `player requests`; `status queries` of a protocol whose queries have keywords.
pub(in crate::diagnose) fn requests(kind: &str) -> String {
    match kind {
        message if message.ends_with("_request") || message.ends_with("ry") => {
            plural(&message.replace('_', " "))
        }
        keyword => format!("{keyword} queries"),
    }
}

#[cfg(test)]
mod tests {
    use super::requests;

    #[test]
    fn kinds_are_named_in_words() {
        let words = ["player_request", "query", "status"].map(requests);
        assert_eq!(words, ["player requests", "queries", "status queries"]);
    }
}
