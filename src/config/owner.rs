//! Whose files are trusted: a file that is found, not named, may be somebody else's, who could change
//! verdicts with it.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Uid, User, geteuid};

/// The owner of a file that was found, if it is neither this user nor root: of the file itself, or of
/// the symbolic link that leads to it.
pub(super) fn stranger(file: &Path, open: &File) -> io::Result<Option<String>> {
    let owners = [std::fs::symlink_metadata(file)?, open.metadata()?];
    let sudo = std::env::var("SUDO_UID").ok().and_then(|user| user.parse().ok());
    let owners = owners.iter().map(Metadata::uid);
    Ok(owners.into_iter().find(|&owner| !is_trusted(owner, geteuid(), sudo)).map(name))
}

/// `sudo`: the user who became root.
fn is_trusted(owner: u32, user: Uid, sudo: Option<u32>) -> bool {
    owner == 0 || owner == user.as_raw() || user.is_root() && Some(owner) == sudo
}

fn name(owner: u32) -> String {
    let known = User::from_uid(Uid::from_raw(owner)).ok().flatten();
    known.map_or_else(|| format!("user {owner}"), |user| user.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_user_and_root_are_trusted() {
        let (root, user) = (Uid::from_raw(0), Uid::from_raw(1000));
        for (owner, as_user, sudo, is_fine) in [
            (1000, user, None, true),
            (0, user, None, true),
            (1001, user, None, false),
            // Any user can set the variable.
            (1001, user, Some(1001), false),
            (0, root, None, true),
            (1000, root, Some(1000), true),
            (1000, root, None, false),
            (1001, root, Some(1000), false),
        ] {
            assert_eq!(is_trusted(owner, as_user, sudo), is_fine, "{owner} {as_user} {sudo:?}");
        }
    }
}
