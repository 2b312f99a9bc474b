//! State that most flows do not need.

/// State of a flow that is made when it is first needed. Until then it takes the room of a pointer, since
/// captures may have millions of flows with one message.
#[derive(Debug)]
pub struct OnDemand<T>(Option<Box<T>>);

impl<T> Default for OnDemand<T> {
    fn default() -> OnDemand<T> {
        OnDemand(None)
    }
}

impl<T> OnDemand<T> {
    /// The state, if there is one.
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The same, to change it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The state; a `new` one if there was none.
    pub fn get_or_insert_with(&mut self, new: impl FnOnce() -> T) -> &mut T {
        self.0.get_or_insert_with(|| Box::new(new()))
    }

    /// Takes the state out.
    pub fn take(&mut self) -> Option<T> {
        self.0.take().map(|state| *state)
    }

    /// Frees the state if it is not needed any more.
    pub fn free_if(&mut self, is_over: impl FnOnce(&T) -> bool) {
        self.0.take_if(|state| is_over(state));
    }

    /// Heap memory in bytes; `more`: what the state itself has on the heap.
    pub fn held(&self, more: impl FnOnce(&T) -> usize) -> usize {
        self.get().map_or(0, |state| size_of::<T>() + more(state))
    }
}

impl<T: Default> OnDemand<T> {
    /// The state; an empty one if there was none.
    pub fn get_or_default(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}
