//! Detects that a device was down: libpcap continues without a notice when it is up again.

use std::path::{Path, PathBuf};

/// The system's state of a device. If there is none, as for `any`, it counts as up.
pub(super) struct DeviceState {
    folder: PathBuf,
    last: Option<SeenState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct SeenState {
    is_up: bool,
    /// How often it lost its carrier, or was taken down.
    losses: Option<u64>,
}

const IFF_UP: u32 = 1;

impl DeviceState {
    pub(super) fn new(device: &str) -> DeviceState {
        let folder = Path::new("/sys/class/net").join(device);
        let last = seen(&folder);
        DeviceState { folder, last }
    }

    /// Whether it went down since the last call, even if it is up again.
    pub(super) fn went_down(&mut self) -> bool {
        let now = seen(&self.folder);
        let before = std::mem::replace(&mut self.last, now);
        let (Some(before), Some(now)) = (before, now) else { return false };
        before.is_up && (!now.is_up || now.losses > before.losses)
    }
}

fn seen(folder: &Path) -> Option<SeenState> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let flags = read("flags")?;
    let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).ok()?;
    let losses = read("carrier_down_count").and_then(|count| count.trim().parse().ok());
    Some(SeenState { is_up: flags & IFF_UP != 0, losses })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_was_down_is_noticed_once() {
        let folder = std::env::temp_dir().join(format!("gamewire-device-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let says = |flags: &str, losses: &str| {
            std::fs::write(folder.join("flags"), flags).unwrap();
            std::fs::write(folder.join("carrier_down_count"), losses).unwrap();
        };
        says("0x1003\n", "1\n");
        let mut state = DeviceState { folder: folder.clone(), last: seen(&folder) };
        assert!(!state.went_down());
        // Down and up again between two calls; then down; then up.
        says("0x1003\n", "2\n");
        assert!(state.went_down() && !state.went_down());
        says("0x1002\n", "2\n");
        assert!(state.went_down() && !state.went_down());
        says("0x1003\n", "2\n");
        assert!(!state.went_down());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(!state.went_down());
    }
}
