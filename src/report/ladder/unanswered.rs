//! Which requests of a ladder were not answered.

use super::Ladder;
use crate::flows::FlowRow;
use crate::session::UnansweredRequest;

impl Ladder {
    /// A request was not answered, as a finding says.
    pub fn unanswered(&mut self, request: &UnansweredRequest) {
        // Of those without an arrow there may be many.
        if self.by_frame.contains_key(&request.frame) {
            self.silent.insert(request.frame, request.is_certain);
        }
    }

    /// A flow has ended.
    pub fn flow(&mut self, row: &FlowRow) {
        if let Some(given_up) = self.given_up.get_mut(&row.flow) {
            *given_up = row.exchanges().missing();
        }
    }

    /// The capture has ended. Its unanswered requests are those that findings say so of, and the last ones of
    /// each flow, as many as were not answered. Some may still have been after its end.
    pub fn settle(&mut self) {
        let found = std::mem::take(&mut self.silent);
        let mut left = std::mem::take(&mut self.given_up);
        for is_found in [true, false] {
            for step in self.steps.iter_mut().skip(self.first).rev() {
                let is_certain = found.get(&step.frame);
                if !step.is_open() || is_certain.is_some() != is_found {
                    continue;
                }
                let Some(left) = left.get_mut(&step.flow) else { continue };
                step.unanswered = is_certain.copied().or((*left > 0).then_some(true));
                *left = left.saturating_sub(1);
            }
        }
        self.first = self.steps.len();
    }
}
