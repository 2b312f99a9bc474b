//! Lists that grow: the room that they take, and bounds.

/// Bytes that a list has room for.
pub fn room<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

/// Appends to a list that may become long: it gets room for a quarter more, not for as much again.
pub(crate) fn append<T>(list: &mut Vec<T>, thing: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 4 + 16);
    }
    list.push(thing);
}
