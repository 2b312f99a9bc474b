//! Room for things that keep their places.

/// Things in places that stay theirs, in pieces of memory that are never moved: a list that doubles
/// would hold three times what it needs while it grows. To put them in and to take them out asks
/// nothing of the allocator. What is in a free place is of no meaning.
#[derive(Default)]
pub(super) struct Places<T> {
    pieces: Vec<Vec<T>>,
    free: Vec<u32>,
}

impl<T: Default> Places<T> {
    /// Places of one piece.
    const PIECE: usize = 1 << 10;

    /// How many places there are, taken or free.
    pub(super) fn count(&self) -> u32 {
        let last = self.pieces.last().map_or(0, Vec::len);
        (self.pieces.len().saturating_sub(1) * Self::PIECE + last) as u32
    }

    /// What is in a place.
    #[inline]
    pub(super) fn get(&self, at: u32) -> Option<&T> {
        let at = at as usize;
        self.pieces.get(at / Self::PIECE)?.get(at % Self::PIECE)
    }

    /// What is in a place, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        let at = at as usize;
        self.pieces.get_mut(at / Self::PIECE)?.get_mut(at % Self::PIECE)
    }

    /// All places, taken or free.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.pieces.iter().flatten())
    }

    /// Puts a thing into a free place.
    #[inline]
    pub(super) fn put(&mut self, thing: T) -> u32 {
        if let Some(at) = self.free.pop() {
            if let Some(place) = self.get_mut(at) {
                *place = thing;
            }
            return at;
        }
        let at = self.count();
        match self.pieces.last_mut().filter(|piece| piece.len() < Self::PIECE) {
            Some(piece) => piece.push(thing),
            None => {
                let mut piece = Vec::with_capacity(Self::PIECE);
                piece.push(thing);
                self.pieces.push(piece);
            }
        }
        at
    }

    /// What is in a taken place is not needed any more.
    #[inline]
    pub(super) fn free(&mut self, at: u32) {
        self.empty(at);
        self.free.push(at);
    }

    /// The same, where nothing more will be put in.
    #[inline]
    pub(super) fn empty(&mut self, at: u32) {
        if let Some(place) = self.get_mut(at) {
            *place = T::default();
        }
    }
}
