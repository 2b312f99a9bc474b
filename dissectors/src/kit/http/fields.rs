//! The fields that every HTTP message has.

use super::kept;
use crate::kit::{Field, Kind, Treatment, fields};

fields! {
    pub(crate),
    METHOD = Field::new("method", "Method", Kind::Text).framing().kept_if(kept::is_method);
    HTTP_VERSION = Field::new("http_version", "HTTP version", Kind::Text).framing().treated(Treatment::Words(kept::is_version));
    STATUS = Field::new("status", "Status", Kind::Unsigned).framing().kept();
    STATUS_TEXT = Field::new("status", "Status", Kind::Text).framing();
    REASON = Field::new("reason", "Reason", Kind::Text).framing().kept_if(kept::is_reason);
    HEADER = Field::new("header", "Header", Kind::Pair).framing();
    HEADER_NAME = Field::new("header_name", "Name", Kind::Text).key(kept::is_header);
    HEADER_VALUE = Field::new("header_value", "Value", Kind::Text).value(kept::header_value);
    BLANK = Field::new("blank", "End of the headers", Kind::Bytes).framing().kept();
    BODY = Field::new("body", "Body", Kind::Text).framing();
}
