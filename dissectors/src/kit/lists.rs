//! Lists that grow: the room that they take, and bounds.

/// Bytes of a list's capacity.
pub fn room<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

/// Appends to a list that may become long: its capacity grows by a quarter instead of doubling.
pub(crate) fn append<T>(list: &mut Vec<T>, thing: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 4 + 16);
    }
    list.push(thing);
}
