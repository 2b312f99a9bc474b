//! Display filters.

use gamewire::filter::{Expression, Filter};

/// A filter is parsed or rejected, and a parsed one is printed as a text that parses to the same filter.
pub(crate) fn run(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    if let Err(error) = source.parse::<Filter>() {
        let said = error.to_string();
        assert!(!said.is_empty());
    }
    if let Ok(expression) = Expression::read(source) {
        let printed = expression.to_string();
        let again = Expression::read(&printed).expect(&printed).to_string();
        assert_eq!(again, printed);
    }
}
