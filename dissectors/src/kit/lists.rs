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

/// Appends to a list of at most `most` things, and one at least; the first is handed out for its
/// sake.
pub(crate) fn append_within<T>(list: &mut Vec<T>, thing: T, most: usize) -> Option<T> {
    let first = (list.len() >= most.max(1)).then(|| list.remove(0));
    list.push(thing);
    first
}
