//! The quick look at a tuple and the walk over it, held to the same answers.

use super::*;
use crate::request::Request;

fn usual(octets: &[u8]) -> Option<Tuple> {
    let mut tuple = Tuple::NOWHERE;
    tuple.read_usual(octets).map(|()| tuple)
}

fn written(tuple: &Tuple) -> Vec<u8> {
    let mut request = Request::new();
    request.tuple(1, tuple);
    request.octets().get(4..).unwrap().to_vec()
}

fn attribute(payload: &[u8]) -> Attribute<'_> {
    Attribute {
        kind: 1,
        payload,
        offset: 0,
    }
}

#[test]
fn the_usual_shape_reads_as_any_shape_does() {
    let v4 = Tuple::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 6, 1000, 80);
    let v6 = Tuple::new([1; 16].into(), [2; 16].into(), 17, 53, 65535);
    let zoned = |tuple| Tuple {
        zone: Some(7),
        ..tuple
    };
    for tuple in [v4, v6, zoned(v4), zoned(v6)] {
        let octets = written(&tuple);
        assert_eq!(usual(&octets), Some(tuple));
        assert_eq!(Tuple::decode_any(&attribute(&octets)), Ok(tuple));
    }
}

#[test]
fn whatever_the_quick_look_takes_the_walk_reads_alike() {
    let octets = written(&Tuple {
        zone: Some(7),
        ..Tuple::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 6, 1000, 80)
    });
    for length in 0..=octets.len() {
        for position in 0..length {
            for value in 0..=255 {
                let mut changed = octets[..length].to_vec();
                changed[position] = value;
                if let Some(tuple) = usual(&changed) {
                    assert_eq!(Tuple::decode_any(&attribute(&changed)), Ok(tuple));
                }
            }
        }
    }
}

#[test]
fn parts_in_another_order_and_unknown_ones_are_read() {
    let tuple = Tuple::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 6, 1000, 80);
    let mut request = Request::new();
    request.nested(1, |list| {
        list.attribute(99, &[1, 2, 3]);
        list.nested(cta::PROTO, |proto| {
            proto.be16(cta::DST_PORT, 80);
            proto.be16(cta::SRC_PORT, 1000);
            proto.u8(cta::NUM, 6);
        });
        list.nested(cta::IP, |ip| {
            ip.address(cta::V4_DST, &tuple.destination);
            ip.address(cta::V4_SRC, &tuple.source);
        });
    });
    let octets = request.octets().get(4..).unwrap();
    assert_eq!(Tuple::decode(&attribute(octets)), Ok(tuple));
}
