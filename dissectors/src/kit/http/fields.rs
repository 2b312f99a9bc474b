//! The fields that every HTTP message has.

use crate::kit::{Field, Kind, fields};

fields! {
    pub(crate),
    METHOD = Field::new("method", "Method", Kind::Text).framing();
    PATH = Field::new("path", "Path", Kind::Text).framing();
    HTTP_VERSION = Field::new("http_version", "HTTP version", Kind::Text).framing();
    STATUS = Field::new("status", "Status", Kind::Unsigned).framing();
    STATUS_TEXT = Field::new("status", "Status", Kind::Text).framing();
    REASON = Field::new("reason", "Reason", Kind::Text).framing();
    HEADER = Field::new("header", "Header", Kind::Pair).framing();
    HEADER_NAME = Field::new("header_name", "Name", Kind::Text).public();
    HEADER_VALUE = Field::new("header_value", "Value", Kind::Text).value();
    BLANK = Field::new("blank", "End of the headers", Kind::Bytes).framing();
    BODY = Field::new("body", "Body", Kind::Text).framing().private();
}
