//! The configuration file.

use std::path::Path;

use gamewire::config::Config;
use gamewire::text::is_hidden;

/// Any text is a configuration, or has an error of one line without control characters.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Config::read(Path::new("gamewire.toml"), text) {
        Ok(config) => {
            let (_, warnings) = config.ignores(gamewire::config::today);
            assert!(warnings.iter().all(|warning| !warning.contains(is_hidden)), "{warnings:?}");
        }
        Err(error) => {
            let said = error.to_string();
            assert!(said.starts_with("gamewire.toml:"), "{said}");
            assert!(!said.contains(is_hidden), "a terminal would obey it: {said:?}");
        }
    }
}
