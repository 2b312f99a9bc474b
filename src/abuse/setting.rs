//! The settings of finding attacks.

use dissectors::ledger::LedgerSettings;

/// The settings.
#[derive(Clone, Copy, Debug)]
pub struct AbuseSetting {
    /// The thresholds.
    pub ledger_settings: LedgerSettings,
    /// The prefix lengths of networks by which sources are counted, in IPv4 and in IPv6.
    pub networks: [u8; 2],
    /// The share of real clients' packets that a filter may drop.
    pub collateral: f64,
}

impl AbuseSetting {
    /// The prefix lengths of networks, where no others are asked for.
    pub const NETWORKS: [u8; 2] = [24, 48];

    /// The share of real clients' packets that a filter may drop, where no other is asked for.
    pub const COLLATERAL: f64 = 0.001;

    /// With these thresholds, and what is usual otherwise.
    pub fn usual(ledger_settings: LedgerSettings) -> AbuseSetting {
        let (networks, collateral) = (AbuseSetting::NETWORKS, AbuseSetting::COLLATERAL);
        AbuseSetting { ledger_settings, networks, collateral }
    }
}
