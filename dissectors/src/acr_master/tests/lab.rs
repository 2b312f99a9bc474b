//! The usual endpoints, and a small flow tracker.

use crate::acr_master::AcrMaster;
use crate::kit::lab;

pub(super) use crate::kit::lab::{LabSegment, TestRecorder};

pub(super) const C: &str = "10.0.0.1:50000";
pub(super) const S: &str = "10.0.0.2:40000";
pub(super) const M: &str = "10.0.0.9:80";

pub(super) type Lab<K> = lab::Lab<AcrMaster, K>;

/// One request and its response, on a connection of its own.
pub(super) fn exchange(request: &str, response: &str) -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    ask(&mut lab, 0.0, S, request, response);
    lab.end(9.0);
    lab
}

/// `request` is the text after `GET `; `response` is a body.
pub(super) fn ask(
    lab: &mut Lab<TestRecorder>,
    time: f64,
    from: &str,
    request: &str,
    response: &str,
) {
    let request = format!("GET {request} HTTP/1.0\r\n\r\n");
    let response = format!("HTTP/1.0 200 OK\r\n\r\n{response}");
    lab.tcp(time, (from, M), from, request.as_bytes(), LabSegment::default());
    lab.tcp(time + 0.02, (M, from), from, response.as_bytes(), LabSegment { fin: true });
}
