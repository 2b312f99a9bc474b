//! Which requests of a ladder were not answered.

use super::Ladder;
use crate::flows::FlowRow;
use crate::session::UnansweredRequest;

impl Ladder {
    /// A request was not answered, as a finding says.
    pub fn unanswered(&mut self, request: &UnansweredRequest) {
        // Of those without an arrow there may be many.
        if self.by_frame.contains_key(&request.frame) {
            self.silent.insert(request.frame);
        }
    }

    /// A flow has ended.
    pub fn flow(&mut self, row: &FlowRow) {
        if let Some(given_up) = self.given_up.get_mut(&row.flow) {
            *given_up = row.exchanges().missing();
        }
    }

    /// The capture has ended. Its unanswered requests are those that findings say so of, and the last ones of
    /// each flow, as many as were not answered.
    pub fn settle(&mut self) {
        let found = std::mem::take(&mut self.silent);
        let mut left = std::mem::take(&mut self.given_up);
        for certain in [true, false] {
            for step in self.steps.iter_mut().skip(self.first).rev() {
                if !step.is_open() || step.is_unanswered {
                    continue;
                }
                let Some(left) = left.get_mut(&step.flow) else { continue };
                if if certain { found.contains(&step.frame) } else { *left > 0 } {
                    step.is_unanswered = true;
                    *left = left.saturating_sub(1);
                }
            }
        }
        self.first = self.steps.len();
    }
}
