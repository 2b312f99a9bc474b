//! Short lists with a limit.

/// The item of a list that `is` the wanted one; a new one is added if there is room.
pub(in crate::diagnose) fn find_or_add<T>(
    list: &mut Vec<T>,
    most: usize,
    is: impl Fn(&T) -> bool,
    new: impl FnOnce() -> T,
) -> Option<&mut T> {
    let at = list.iter().position(is);
    if at.is_none() && list.len() < most {
        list.push(new());
        return list.last_mut();
    }
    list.get_mut(at?)
}

/// Adds an item to a list of the latest ones, in place of the first if there are `most`.
pub(in crate::diagnose) fn keep_latest<T>(list: &mut Vec<T>, most: usize, item: T) {
    if list.len() >= most {
        list.remove(0);
    }
    list.push(item);
}
