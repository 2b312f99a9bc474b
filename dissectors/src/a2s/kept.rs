//! What `scrub` keeps of texts.

use crate::kit::{Treatment, is_plain, kept_if, words};

use super::layout::SPLIT;
use super::rules::chunk;

words! {
    /// Well-known console variables, whose values are numbers or flags.
    NUMBERS = "allow_spectators bot_quota coop deathmatch decalfrequency edgefriction \
    mp_allowspectators mp_autocrosshair mp_autoteambalance mp_c4timer mp_consistency mp_fadetoblack \
    mp_falldamage mp_flashlight mp_footsteps mp_forcecamera mp_forcerespawn mp_fraglimit \
    mp_freezetime mp_friendlyfire mp_ghostfrequency mp_limitteams mp_maxrounds mp_roundtime \
    mp_startmoney mp_teamplay mp_timelimit mp_tkpunish mp_weaponstay mp_winlimit pausable \
    sv_accelerate sv_aim sv_airaccelerate sv_airmove sv_allowdownload sv_allowupload \
    sv_alltalk sv_bounce sv_cheats sv_clienttrace sv_clipmode sv_consistency sv_footsteps \
    sv_friction sv_gravity sv_logblocks sv_maxrate sv_maxspeed sv_minrate sv_password sv_proxies \
    sv_pure sv_restart sv_restartround sv_stepsize sv_stopspeed sv_uploadmax sv_voiceenable \
    sv_wateraccelerate sv_waterfriction tf_arena_max_streak tv_enable";

    /// Well-known names of other rules.
    TEXTS = "hostname mapname motd nextlevel sv_contact sv_tags";
}

/// What follows `T`.
pub(super) fn is_query(text: &[u8]) -> bool {
    text == b"Source Engine Query"
}

/// What follows `j`.
pub(super) fn is_pong(text: &[u8]) -> bool {
    text == b"00000000000000"
}

/// Whether it is a well-known rule, or the number of a chunk of binary data.
pub(super) fn is_rule(name: &[u8]) -> bool {
    let is_chunk = chunk(name).is_some() && !name.iter().any(u8::is_ascii_graphic);
    is_chunk || NUMBERS.contains(name) || TEXTS.contains(name)
}

pub(super) fn rule_value(name: &[u8], value: &[u8]) -> Treatment {
    kept_if(NUMBERS.contains(name) && is_plain(value))
}

/// The low half of the application ID in a game ID, which a rule compares with the ID.
pub(super) fn app_id(_: &[u8]) -> usize {
    2
}

/// Whether a text is a word by which readers find their way.
pub(super) fn is_known_word(text: &[u8]) -> bool {
    is_rule(text)
}

/// The header of a part of a split response, as lengths and treatments.
pub(super) fn part_header(bytes: &[u8]) -> Option<&'static [(usize, Treatment)]> {
    const HEADER: &[(usize, Treatment)] =
        &[(4, Treatment::Kept), (4, Treatment::SplitId), (4, Treatment::Kept)];
    bytes.starts_with(&SPLIT).then_some(HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_by_their_names() {
        let is_kept = |name: &str, value: &str| {
            matches!(rule_value(name.as_bytes(), value.as_bytes()), Treatment::Kept)
        };
        assert!(is_kept("mp_timelimit", "30") && is_kept("sv_cheats", "0"));
        for (name, value) in [
            ("rcon_pw", "4711"),
            ("sv_pwd", "1234"),
            ("motd", "1"),
            ("mp_timelimit", "203.0.113.9"),
            ("mp_timelimit", "3405803786"),
            ("sv_contact", "5551234"),
        ] {
            assert!(!is_kept(name, value), "{name} {value}");
        }
        assert!(is_rule(&[1, 2]) && !is_rule(b"AB") && !is_rule(b"rcon_pw"));
    }
}
