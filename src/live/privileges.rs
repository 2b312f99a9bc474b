//! Root is needed to open a device, and for nothing after that.

use std::ffi::OsString;

use nix::unistd::{Gid, Uid, User, geteuid, setgid, setgroups, setuid};

/// Who is to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Account {
    name: String,
    user: Uid,
    group: Gid,
}

/// Gives root's rights up for those of `user`; where none is named, of the user behind sudo, else of
/// nobody. Who is not root keeps what they have. Returns the name of who goes on.
pub(super) fn drop_to(
    user: Option<&str>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<String>, String> {
    if !geteuid().is_root() {
        return match user {
            None => Ok(None),
            Some(user) => Err(format!("-Z {user}: only root can become somebody else")),
        };
    }
    let account = account(user, variable)?;
    if account.user.is_root() {
        return Ok(Some(account.name));
    }
    let failed =
        |error| format!("cannot go on as {}: {error}; name another user with -Z", account.name);
    setgroups(&[account.group]).map_err(failed)?;
    setgid(account.group).map_err(failed)?;
    setuid(account.user).map_err(failed)?;
    Ok(Some(account.name))
}

fn account(
    user: Option<&str>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Account, String> {
    if let Some(name) = user {
        return match named(name) {
            Some(account) => Ok(account),
            None => Err(format!("-Z {name}: there is no such user")),
        };
    }
    let number = |name| variable(name)?.to_str()?.parse::<u32>().ok();
    if let (Some(user), Some(group)) = (number("SUDO_UID"), number("SUDO_GID")) {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let known = User::from_uid(user).ok().flatten().map(|user| user.name);
        let name = known.unwrap_or_else(|| format!("user {user}"));
        return Ok(Account { name, user, group });
    }
    let none = "there is no user nobody: say with -Z who is to go on when the device is open";
    named("nobody").ok_or_else(|| none.to_owned())
}

fn named(name: &str) -> Option<Account> {
    let user = User::from_name(name).ok().flatten()?;
    Some(Account { name: user.name, user: user.uid, group: user.gid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_behind_sudo_goes_on_else_nobody() {
        let sudo = |name: &str| match name {
            "SUDO_UID" => Some("4242".into()),
            "SUDO_GID" => Some("4343".into()),
            _ => None,
        };
        let found = account(None, sudo).unwrap();
        assert_eq!((found.user.as_raw(), found.group.as_raw()), (4242, 4343));
        if named("nobody").is_some() {
            assert_eq!(account(None, |_| None).unwrap().name, "nobody");
        }
        assert_eq!(account(Some("root"), sudo).unwrap().name, "root");
        assert!(account(Some("no such user"), sudo).unwrap_err().contains("no such user"));
    }
}
