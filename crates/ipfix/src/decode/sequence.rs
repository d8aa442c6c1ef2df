//! The sequence check of one observation domain: what never came (RFC 7011, section 3.1).

/// Counts what is missing between messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceCheck {
    /// What the next message should say; `None` before the first and after one whose records could not be counted.
    expected: Option<u32>,
    /// Times that a message was ahead of what was expected.
    pub gaps: u64,
    /// Data records that these gaps stand for. Over UDP those of a message that comes late are among them.
    pub missing_records: u64,
    /// Messages behind what was expected: late ones, repeated ones, or the first of an exporter that began anew.
    pub behind: u64,
}

/// A message this far behind is no late one: the exporter began anew.
const LATE: u32 = 1 << 16;

impl SequenceCheck {
    /// Takes note of a message. `records`: its data records, `None` where a set could not be read and the next
    /// sequence number is anyone's guess. How many records are missing before it, as far as that can be told.
    pub(crate) fn message(&mut self, sequence: u32, records: Option<u32>) -> u32 {
        let mut missing = 0;
        if let Some(expected) = self.expected {
            let ahead = sequence.wrapping_sub(expected);
            if ahead > u32::MAX / 2 {
                self.behind += 1;
                if ahead.wrapping_neg() < LATE {
                    return 0;
                }
            } else if ahead > 0 {
                self.gaps += 1;
                self.missing_records += u64::from(ahead);
                missing = ahead;
            }
        }
        self.expected = records.map(|records| sequence.wrapping_add(records));
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_count_the_records_that_never_came() {
        let mut check = SequenceCheck::default();
        check.message(100, Some(10));
        check.message(110, Some(5));
        assert_eq!(check.message(118, Some(1)), 3);
        assert_eq!((check.gaps, check.missing_records, check.behind), (1, 3, 0));
    }

    #[test]
    fn the_sequence_wraps_around_without_a_gap() {
        let mut check = SequenceCheck::default();
        check.message(u32::MAX - 1, Some(3));
        check.message(1, Some(1));
        check.message(4, Some(1));
        assert_eq!((check.gaps, check.missing_records, check.behind), (1, 2, 0));
    }

    #[test]
    fn a_late_message_is_not_taken_for_a_new_beginning() {
        let mut check = SequenceCheck::default();
        check.message(0, Some(10));
        check.message(20, Some(10));
        check.message(10, Some(10));
        check.message(30, Some(10));
        assert_eq!(
            (check.gaps, check.missing_records, check.behind),
            (1, 10, 1)
        );
    }

    #[test]
    fn an_exporter_that_begins_anew_is_followed() {
        let mut check = SequenceCheck::default();
        check.message(1_000_000, Some(10));
        check.message(0, Some(10));
        check.message(10, Some(10));
        assert_eq!((check.gaps, check.missing_records, check.behind), (0, 0, 1));
    }

    #[test]
    fn what_could_not_be_counted_makes_no_gap() {
        let mut check = SequenceCheck::default();
        check.message(0, None);
        check.message(70, Some(1));
        check.message(71, Some(1));
        assert_eq!((check.gaps, check.missing_records, check.behind), (0, 0, 0));
    }
}
