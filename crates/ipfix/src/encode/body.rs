//! Encodes flows into message bodies: headers are stamped later, by each session that sends them.

use std::sync::Arc;

use crate::encode::format::Format;
use crate::encode::lane::Lane;
use crate::flow::Flow;
use crate::profile::shape::Shape;

/// One message but for its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The sets, one after the other. [`crate::Session::header`] makes the 16 octets to put in front of them.
    pub sets: Vec<u8>,
    /// Data records in it.
    pub records: u32,
    /// Sum of the records' packet deltas, both directions.
    pub packets: u64,
    /// Sum of the records' octet deltas, both directions.
    pub total_octets: u64,
}

/// What became of a flow that was pushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pushed {
    /// It is in an open message.
    Added,
    /// It does not fit the open message and no further one may be started; nothing was added.
    Full,
    /// It fits no message of this format's maximum size; nothing was added.
    TooLarge,
}

/// Encodes one batch for one format into one or more message bodies.
#[derive(Debug)]
pub struct BodyEncoder {
    format: Arc<Format>,
    /// Open messages: one, or one a template where a message holds one set.
    lanes: Vec<Lane>,
    closed: Vec<Body>,
}

impl BodyEncoder {
    /// An encoder with nothing in it.
    pub fn new(format: &Arc<Format>) -> Self {
        let mut lanes = Vec::new();
        lanes.resize_with(format.lanes(), Lane::default);
        Self {
            format: Arc::clone(format),
            lanes,
            closed: Vec::new(),
        }
    }

    /// Adds one flow. `may_start`: whether a further message may be started when the flow does not fit the open one.
    /// The first message (in the antrea profile: the first of each family) is started in any case.
    pub fn push(&mut self, flow: &Flow<'_>, may_start: bool) -> Pushed {
        let Self {
            format,
            lanes,
            closed,
        } = self;
        let template = format
            .by_shape
            .get(Shape::of(flow).index())
            .and_then(|index| format.templates.get(*index as usize));
        // Every shape has a template and every template a lane: `Format::new` made them so.
        let Some(compiled) = template else {
            return Pushed::TooLarge;
        };
        let Some(lane) = lanes.get_mut(compiled.lane) else {
            return Pushed::TooLarge;
        };
        let pushed = lane.push(flow, compiled, format, may_start, closed);
        if pushed == Pushed::Added {
            lane.count(flow);
        }
        pushed
    }

    /// Closes what is open and hands over all bodies, in the order in which they were filled; the encoder is empty then.
    pub fn finish(&mut self) -> Vec<Body> {
        for lane in &mut self.lanes {
            lane.close(&mut self.closed);
        }
        std::mem::take(&mut self.closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Counters;
    use crate::profile::Profile;

    #[test]
    fn a_message_fills_a_buffer_that_held_garbage() {
        let address = |text: &str| text.parse().unwrap();
        let counters = [Counters {
            packets: 1,
            octets: 2,
        }; 2];
        let flow = Flow {
            source: address("192.0.2.1"),
            destination: address("192.0.2.2"),
            source_port: 1,
            destination_port: 2,
            protocol: 17,
            translated: false,
            reply_source: address("192.0.2.2"),
            reply_destination: address("192.0.2.1"),
            reply_source_port: 2,
            reply_destination_port: 1,
            start_ns: 0,
            end_ns: 0,
            reason: 1,
            totals: counters,
            deltas: counters,
            zone: 0,
            reply_zone: 0,
            mark: 0,
            id: 0,
            tcp_state: 0,
            names: None,
            service: false,
            node: "",
            cluster: "",
            denied: None,
        };
        let format = Arc::new(Format::new(&Profile::standard(None).unwrap(), 1, 1000).unwrap());
        let mut fresh = BodyEncoder::new(&format);
        let mut used = BodyEncoder::new(&format);
        for lane in &mut used.lanes {
            lane.sets = vec![0xa5; 2000];
            lane.sets.clear();
        }
        for encoder in [&mut fresh, &mut used] {
            for _ in 0..5 {
                assert_eq!(encoder.push(&flow, false), Pushed::Added);
            }
        }
        assert_eq!(used.finish(), fresh.finish());
    }
}
