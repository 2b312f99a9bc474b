//! Serialization between processes of the same version: serde with postcard.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Data from another process that is not valid in this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenBytes;

impl fmt::Display for BrokenBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "what another process wrote cannot be read: all must run the same version of gamewire",
        )
    }
}

impl std::error::Error for BrokenBytes {}

/// Serializes a value. A value that cannot be serialized, such as a path that is not text, gives no
/// bytes, which cannot be deserialized.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    postcard::to_extend(value, Vec::new()).unwrap_or_default()
}

/// Deserializes a value from all of these bytes. It allocates no more than their number justifies,
/// whatever lengths they contain.
///
/// # Errors
/// They are invalid in this version.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BrokenBytes> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(BrokenBytes),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use super::*;

    #[test]
    fn truncated_and_longer_bytes_are_invalid() {
        let value = (7_u64, "text".to_owned(), vec![Some(-3_i64), None]);
        let mut bytes = to_bytes(&value);
        assert_eq!(from_bytes(&bytes), Ok(value.clone()));
        for cut in 0..bytes.len() {
            let read = from_bytes::<(u64, String, Vec<Option<i64>>)>(&bytes[..cut]);
            assert_eq!(read, Err(BrokenBytes));
        }
        bytes.push(0);
        assert_eq!(from_bytes::<(u64, String, Vec<Option<i64>>)>(&bytes), Err(BrokenBytes));
    }

    /// Allocating the announced length would abort the test.
    #[test]
    fn announced_lengths_are_not_allocated() {
        let mut bytes = to_bytes(&u64::MAX);
        bytes.extend([0; 8]);
        assert_eq!(from_bytes::<Vec<[u64; 8]>>(&bytes), Err(BrokenBytes));
        assert_eq!(from_bytes::<String>(&bytes), Err(BrokenBytes));
        assert_eq!(from_bytes::<std::collections::HashMap<u64, u64>>(&bytes), Err(BrokenBytes));
        assert!(from_bytes::<roaring::RoaringBitmap>(&bytes).is_err());
    }

    #[test]
    fn a_plan_of_another_version_is_broken() {
        let mut bytes = to_bytes(&Plan::new(Vec::new(), 1));
        assert!(from_bytes::<Plan>(&bytes).is_ok());
        // The version comes first, after its length.
        bytes[1] ^= 1;
        assert!(from_bytes::<Plan>(&bytes).is_err());
    }
}
