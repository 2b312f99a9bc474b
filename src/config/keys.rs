//! Secret keys from the command line and the configuration. No error contains the argument, which may
//! be the key.

use std::convert::Infallible;
use std::io::Read;
use std::path::Path;

use dissectors::kit::Secret;

use crate::text::escaped;

/// Maximum size of a key's file in bytes.
const MOST: u64 = 64 << 10;

/// A key from the command line with the name of its owner, or an error text. It is not reported as an
/// error of the parser, because clap would print the argument, and with it the key.
pub type GivenKey = Result<(String, Secret), String>;

/// `GAME=KEY`.
///
/// # Errors
/// None; see [`GivenKey`].
pub fn gamespy_key(text: &str) -> Result<GivenKey, Infallible> {
    Ok(match text.split_once('=') {
        Some((game, key)) if !game.is_empty() && !key.is_empty() => {
            Ok((game.to_owned(), Secret::new(key.as_bytes())))
        }
        _ => Err("invalid --gamespy-key: write it as GAME=KEY, such as ut=KEY".to_owned()),
    })
}

/// `user=NAME,key=HEX` or `user=NAME,key=@FILE`.
///
/// # Errors
/// None; see [`GivenKey`].
pub fn acr_key(text: &str) -> Result<GivenKey, Infallible> {
    let parts = text
        .split_once(",key=")
        .and_then(|(user, key)| Some((user.strip_prefix("user=")?, key)))
        .filter(|(user, key)| !user.is_empty() && !key.is_empty());
    let Some((user, key)) = parts else {
        return Ok(Err(
            "invalid --acr-key: write it as user=NAME,key=HEX or user=NAME,key=@FILE".into()
        ));
    };
    let key = hex_or_file(key, KeyFiles { folder: Path::new(""), is_confined: false });
    Ok(match key {
        Ok(key) => Ok((user.to_owned(), key)),
        Err(why) => Err(format!("invalid --acr-key: the key of user {}: {why}", escaped(user))),
    })
}

/// The location of files with keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyFiles<'f> {
    /// The folder that their names are relative to.
    pub(super) folder: &'f Path,
    /// Only files below that folder are read.
    pub(super) is_confined: bool,
}

impl KeyFiles<'_> {
    fn read(self, name: &str) -> Result<String, String> {
        let file = self.folder.join(name);
        let unreadable = |error| format!("cannot read {}: {error}", escaped(name));
        if self.is_confined {
            let [file, folder] = [&file, self.folder].map(Path::canonicalize);
            if !file.map_err(unreadable)?.starts_with(folder.map_err(unreadable)?) {
                return Err(format!(
                    "{} is outside the folder of this gamewire.toml; to allow it, name the configuration with --config FILE",
                    escaped(name)
                ));
            }
        }
        // Opening a pipe would block until there is a writer.
        if !std::fs::metadata(&file).map_err(unreadable)?.is_file() {
            return Err(format!("{} is not a regular file", escaped(name)));
        }
        let mut held = String::new();
        let read = std::fs::File::open(file).and_then(|it| it.take(MOST).read_to_string(&mut held));
        read.map(|_| held).map_err(unreadable)
    }
}

/// A key in hex, or `@` and the name of a file that holds the hex.
pub(super) fn hex_or_file(text: &str, files: KeyFiles<'_>) -> Result<Secret, String> {
    let Some(name) = text.strip_prefix('@') else { return hex(text) };
    let held = files.read(name)?;
    hex(held.trim()).map_err(|why| format!("{}: {why}", escaped(name)))
}

fn hex(text: &str) -> Result<Secret, String> {
    let digit = |&digit: &u8| char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
    bytes
        .filter(|bytes| !bytes.is_empty())
        .map(Secret::new)
        .ok_or_else(|| "not in hex; write pairs of hex digits, such as 6b4c".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hex_is_accepted() {
        assert_eq!(hex("6b4C00"), Ok(Secret::new(*b"kL\0")));
        for wrong in ["", "6", "6b4", "6g", "6b 4c", "0x6b", "ß"] {
            let error = hex(wrong).unwrap_err();
            assert_eq!(error, "not in hex; write pairs of hex digits, such as 6b4c");
        }
    }

    #[test]
    fn errors_do_not_contain_the_key() {
        for typed in ["s3cret", "user=me", "user=me,key=", "user=,key=s3cret", "user=me,key=s3cret"]
        {
            let Err(why) = acr_key(typed).unwrap() else { panic!("{typed} is valid") };
            assert!(why.starts_with("invalid --acr-key: ") && !why.contains("s3cret"), "{why}");
        }
        for typed in ["s3cret", "=s3cret", "ut="] {
            let Err(why) = gamespy_key(typed).unwrap() else { panic!("{typed} is valid") };
            assert!(!why.contains("s3cret"), "{why}");
        }
    }

    #[test]
    fn a_file_may_contain_the_key() {
        let folder = std::env::temp_dir();
        let name = format!("gamewire-key-{}", std::process::id());
        std::fs::write(folder.join(&name), "6b6C\n").unwrap();
        let read =
            hex_or_file(&format!("@{name}"), KeyFiles { folder: &folder, is_confined: false });
        std::fs::remove_file(folder.join(&name)).unwrap();
        assert_eq!(read, Ok(Secret::new(*b"kl")));
        let missing =
            hex_or_file(&format!("@{name}"), KeyFiles { folder: &folder, is_confined: false })
                .unwrap_err();
        assert!(missing.contains(&name), "{missing}");
    }

    #[test]
    fn a_user_s_name_may_contain_a_comma() {
        let Ok((user, key)) = acr_key("user=a,b,key=6b").unwrap() else { panic!("a key") };
        assert_eq!((user.as_str(), key.bytes()), ("a,b", &b"k"[..]));
    }
}
