//! The ladder for scripts: one object.

use serde_json::{Value, json};

use super::{Arrow, Ladder, LadderColumn};
use crate::report::FindingText;
use crate::report::clock::rfc3339;
use crate::report::json;

impl Ladder {
    /// Writes one object in a line.
    pub fn json(&self, capture: Option<&str>, out: &mut Vec<u8>) {
        let parties = self.party_objects();
        let steps = self.step_objects().map(|mut step| {
            // What cannot be told is absent.
            step.as_object_mut().into_iter().for_each(|step| step.retain(|_, it| !it.is_null()));
            step
        });
        let steps = Vec::from_iter(steps);
        let mut ladder = json!({ "parties": parties, "steps": steps, "left_out": self.left_out });
        if let (Some(capture), Some(ladder)) = (capture, ladder.as_object_mut()) {
            ladder.insert("capture".to_owned(), capture.into());
        }
        // Writing to bytes cannot fail, and the object has nothing that is not JSON.
        let _ = json::line(&ladder, out);
    }

    /// The columns.
    pub(in crate::report) fn party_objects(&self) -> Vec<Value> {
        let object =
            |party: &LadderColumn| json!({ "address": party.address, "ports": party.ports });
        self.parties.iter().map(object).collect()
    }

    /// The arrows, one after the other.
    pub(in crate::report) fn step_objects(&self) -> impl Iterator<Item = Value> {
        self.steps.iter().map(object)
    }
}

fn object(step: &Arrow) -> Value {
    let findings: Vec<Value> = step
        .findings
        .iter()
        .map(|FindingText { severity, verdict, text }| {
            json!({ "severity": severity.name(), "verdict": verdict.name(), "text": text })
        })
        .collect();
    let mut object = json!({
        "frame": step.frame,
        "packets": step.packets,
        "time": rfc3339(step.time, step.digits),
        "from": step.from,
        "to": step.to,
        "src": step.ends[0].to_string(),
        "dst": step.ends[1].to_string(),
        "protocol": step.protocol,
        "message": step.message,
        "summary": step.summary,
        "findings": findings,
    });
    let mut add = |name: &str, value: Value| {
        if let Some(object) = object.as_object_mut() {
            object.insert(name.to_owned(), value);
        }
    };
    if step.icmp {
        // It has no ports, and is not a message of the protocol.
        add("src", json!(step.ends[0].ip()));
        add("icmp", Value::Bool(true));
    }
    if let Some((request, after)) = step.reply {
        add("request", request.into());
        add("response_time", json!(after as f64 / 1e9));
    }
    if let Some((by, completes)) = step.response {
        if completes {
            add("answered", Value::Bool(true));
        }
        add("answered_by", by.into());
    }
    if let Some(is_certain) = step.unanswered {
        // The null counts as a request without an answer, where it is counted.
        add("answered", if is_certain { Value::Bool(false) } else { Value::Null });
    }
    if let Some(frame) = step.copy_of {
        add("copy_of", frame.into());
    }
    if let Some(frame) = step.again {
        add("sent_first", frame.into());
    }
    if step.segment {
        add("segment", Value::Bool(true));
    }
    if step.lost {
        add("lost", Value::Bool(true));
    }
    object
}
