//! Builds byte strings field by field.

/// Builds a header or a message: `Bytes::new().u8(0x49).text("de_dust").le16(240)`.
#[derive(Clone, Debug, Default)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// An empty byte string.
    pub fn new() -> Self {
        Self::default()
    }

    /// One byte.
    pub fn u8(self, value: u8) -> Self {
        self.raw(&[value])
    }

    /// Two bytes, network order.
    pub fn be16(self, value: u16) -> Self {
        self.raw(&value.to_be_bytes())
    }

    /// Four bytes, network order.
    pub fn be32(self, value: u32) -> Self {
        self.raw(&value.to_be_bytes())
    }

    /// Two bytes, little-endian.
    pub fn le16(self, value: u16) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// Four bytes, little-endian.
    pub fn le32(self, value: u32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// Eight bytes, little-endian.
    pub fn le64(self, value: u64) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// A 32-bit float, little-endian.
    pub fn f32(self, value: f32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// A text and the 0x00 that ends it.
    pub fn text(self, text: &str) -> Self {
        self.raw(text.as_bytes()).u8(0x00)
    }

    /// Raw bytes.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// The bytes.
    pub fn done(self) -> Vec<u8> {
        self.0
    }
}

/// The bytes as upper-case hex digits, for exchange scripts.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
