//! Numbers on the command line.

use std::ops::RangeInclusive;

/// Parses a whole number within these bounds. The largest number of its type is no bound that users need to know.
pub(super) fn whole_number<N>(
    bounds: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: TryFrom<u64> + Into<u64> + Copy + Send + Sync + 'static,
{
    move |typed: &str| {
        let [least, most] = [*bounds.start(), *bounds.end()].map(Into::into);
        let number = typed.trim().parse().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| match (least, most) {
            (0, 0xFFFF_FFFF..) => "expected a whole number, such as 10".to_owned(),
            (_, 0xFFFF_FFFF..) => format!("expected a whole number from {least} on"),
            _ => format!("expected a whole number from {least} to {most}"),
        })
    }
}
