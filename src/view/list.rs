//! A list with one selected row, of which a part is visible.

/// The selected row, and the rows on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ListCursor {
    length: usize,
    selected: usize,
    top: usize,
    height: usize,
    /// A row added at the end becomes selected.
    follows: bool,
}

impl ListCursor {
    /// It has this many rows now.
    pub(super) fn set_length(&mut self, length: usize) {
        self.length = length;
        if self.follows {
            self.selected = length;
        }
        self.settle();
    }

    /// This many rows fit on the screen.
    pub(super) fn set_height(&mut self, height: usize) {
        self.height = height;
        self.settle();
    }

    /// How many rows it has.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The selected row, if there is one.
    pub(super) fn selected(&self) -> Option<usize> {
        (self.selected < self.length).then_some(self.selected)
    }

    /// The rows on the screen.
    pub(super) fn visible(&self) -> std::ops::Range<usize> {
        self.top..self.top.saturating_add(self.height).min(self.length)
    }

    /// Selects a row.
    pub(super) fn select(&mut self, row: usize) {
        (self.selected, self.follows) = (row, false);
        self.settle();
    }

    /// Moves the selection by this many rows.
    pub(super) fn step(&mut self, rows: isize) {
        self.select(self.selected.saturating_add_signed(rows));
    }

    /// Moves the selection by this many screens.
    pub(super) fn page(&mut self, pages: isize) {
        let rows = self.height.saturating_sub(1).max(1);
        self.step(pages.saturating_mul(isize::try_from(rows).unwrap_or(1)));
    }

    /// Selects the last row, and every new last one.
    pub(super) fn end(&mut self) {
        self.select(usize::MAX);
        self.follows = true;
    }

    fn settle(&mut self) {
        self.selected = self.selected.min(self.length.saturating_sub(1));
        if self.height == 0 {
            return;
        }
        let least = (self.selected + 1).saturating_sub(self.height);
        let most = self.length.saturating_sub(self.height).min(self.selected);
        self.top = self.top.clamp(least.min(most), self.selected.min(most.max(least)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(length: usize, height: usize) -> ListCursor {
        let mut list = ListCursor::default();
        list.set_length(length);
        list.set_height(height);
        list
    }

    #[test]
    fn the_selected_row_is_on_the_screen() {
        let mut list = list(100, 10);
        for rows in [3, 20, -1, 60, -70, 1000, -5, -1000] {
            list.step(rows);
            let selected = list.selected().unwrap();
            assert!(list.visible().contains(&selected), "{list:?}");
            assert_eq!(list.visible().len(), 10, "{list:?}");
        }
        list.page(2);
        assert_eq!(list.selected(), Some(18));
    }

    #[test]
    fn empty_lists_and_small_screens() {
        let mut empty = list(0, 0);
        empty.step(1);
        empty.page(-1);
        assert_eq!((empty.selected(), empty.visible()), (None, 0..0));
        let mut low = list(5, 0);
        low.step(2);
        assert_eq!(low.selected(), Some(2));
        low.set_height(1);
        assert_eq!(low.visible(), 2..3);
    }

    #[test]
    fn it_follows_new_rows_until_the_selection_moves() {
        let mut list = list(5, 3);
        list.end();
        list.set_length(9);
        assert_eq!((list.selected(), list.visible()), (Some(8), 6..9));
        list.step(-1);
        list.set_length(20);
        assert_eq!(list.selected(), Some(7));
    }
}
