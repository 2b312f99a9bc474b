//! What is kept of each flow only where somebody asks for it: beside the table, by place.

/// What may be kept of a flow.
pub(super) trait PerFlowValue: Clone + Default {
    /// Bytes that it holds beside itself.
    #[inline]
    fn held(&self) -> usize {
        0
    }
}

/// Something of each flow; nothing, where nobody asks for it.
#[derive(Default)]
pub(super) struct PerFlow<T> {
    is_kept: bool,
    each: Vec<T>,
    /// Bytes that they hold beside themselves.
    held: usize,
}

impl<T: PerFlowValue> PerFlow<T> {
    /// Whether it is to be kept.
    pub(super) fn kept(is_kept: bool) -> PerFlow<T> {
        PerFlow { is_kept, each: Vec::new(), held: 0 }
    }

    /// Nothing is known yet of the flow in this place.
    #[inline]
    pub(super) fn forget(&mut self, at: u32) {
        if self.is_kept && self.each.len() <= at as usize {
            self.each.resize(at as usize + 1, T::default());
        }
        self.change(at, |it| *it = T::default());
    }

    /// What is known of the flow in this place.
    #[inline]
    pub(super) fn get(&self, at: u32) -> Option<&T> {
        self.each.get(at as usize)
    }

    /// Changes what is known of the flow in this place, if it is kept.
    #[inline]
    pub(super) fn change(&mut self, at: u32, change: impl FnOnce(&mut T)) {
        if let Some(it) = self.each.get_mut(at as usize) {
            let before = it.held();
            change(it);
            self.held = (self.held + it.held()).saturating_sub(before);
        }
    }

    /// Bytes of memory that all take.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.held + self.each.len() * size_of::<T>()
    }
}
