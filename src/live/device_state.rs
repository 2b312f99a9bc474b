//! What the system says about a device: whether it was down, after which libpcap continues without a
//! notice, and how many packets it dropped.
//!
//! The files are opened once and read again and again, because a confined process cannot open them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The system's files about a device. If there are none, as for `any`, it counts as up.
pub(super) struct DeviceState {
    flags: Option<File>,
    /// How often it lost its carrier, or was taken down.
    losses: Option<File>,
    /// Packets that it dropped: because its own buffers were full, or the system did not fetch them.
    drops: [Option<File>; 2],
    /// Their number when it was last read, and how many of them came since the start.
    last_drops: Option<u64>,
    dropped: u64,
    last: Option<SeenState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct SeenState {
    is_up: bool,
    losses: Option<u64>,
}

const IFF_UP: u32 = 1;

/// Maximum size of such a file: each has one number.
const MOST: usize = 64;

impl DeviceState {
    pub(super) fn open(device: &str) -> DeviceState {
        DeviceState::in_folder(&Path::new("/sys/class/net").join(device))
    }

    fn in_folder(folder: &Path) -> DeviceState {
        let open = |name: &str| File::open(folder.join(name)).ok();
        let drops = ["statistics/rx_missed_errors", "statistics/rx_fifo_errors"].map(open);
        let (flags, losses) = (open("flags"), open("carrier_down_count"));
        let mut state =
            DeviceState { flags, losses, drops, last_drops: None, dropped: 0, last: None };
        (state.last_drops, state.last) = (state.drops(), state.seen());
        state
    }

    /// Whether it went down since the last call, even if it is up again.
    pub(super) fn went_down(&mut self) -> bool {
        let now = self.seen();
        let before = std::mem::replace(&mut self.last, now);
        let (Some(before), Some(now)) = (before, now) else { return false };
        before.is_up && (!now.is_up || now.losses > before.losses)
    }

    /// Packets that it dropped since the start, as far as the system says.
    pub(super) fn dropped(&mut self) -> u64 {
        if let Some(now) = self.drops() {
            self.dropped += now.saturating_sub(self.last_drops.unwrap_or(now));
            self.last_drops = Some(now);
        }
        self.dropped
    }

    fn drops(&self) -> Option<u64> {
        let counts = self.drops.iter().flatten().map(number);
        counts.sum()
    }

    fn seen(&self) -> Option<SeenState> {
        let flags = text(self.flags.as_ref()?)?;
        let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).ok()?;
        let losses = self.losses.as_ref().and_then(number);
        Some(SeenState { is_up: flags & IFF_UP != 0, losses })
    }
}

/// The text of a file now.
fn text(file: &File) -> Option<String> {
    let mut bytes = [0; MOST];
    let read = file.read_at(&mut bytes, 0).ok()?;
    String::from_utf8(bytes.get(..read)?.to_vec()).ok()
}

fn number(file: &File) -> Option<u64> {
    text(file)?.trim().parse().ok()
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
        let mut state = DeviceState::in_folder(&folder);
        assert!(!state.went_down());
        // Down and up again between two calls; then down; then up.
        says("0x1003\n", "2\n");
        assert!(state.went_down() && !state.went_down());
        says("0x1002\n", "2\n");
        assert!(state.went_down() && !state.went_down());
        says("0x1003\n", "2\n");
        assert!(!state.went_down());
        // The device is gone.
        says("", "");
        assert!(!state.went_down());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(!DeviceState::in_folder(&folder).went_down());
    }

    #[test]
    fn drops_count_from_the_start() {
        let folder = std::env::temp_dir().join(format!("gamewire-drops-{}", std::process::id()));
        let statistics = folder.join("statistics");
        assert_eq!(DeviceState::in_folder(&folder).dropped(), 0);
        std::fs::create_dir_all(&statistics).unwrap();
        let says = |name: &str, count| std::fs::write(statistics.join(name), count).unwrap();
        says("rx_missed_errors", "100\n");
        says("rx_fifo_errors", "20\n");
        let mut state = DeviceState::in_folder(&folder);
        assert_eq!(state.dropped(), 0);
        says("rx_missed_errors", "107\n");
        says("rx_fifo_errors", "22\n");
        assert_eq!(state.dropped(), 9);
        // Its driver was loaded again.
        says("rx_missed_errors", "0\n");
        says("rx_fifo_errors", "0\n");
        assert_eq!(state.dropped(), 9);
        says("rx_missed_errors", "1\n");
        assert_eq!(state.dropped(), 10);
        // The device is gone.
        says("rx_fifo_errors", "");
        assert_eq!(state.dropped(), 10);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
