//! Which zone an entry is of: the one rule by which zones are selected.
//!
//! The kernel gives an entry one zone: an id, and the directions for which it holds (`struct nf_conntrack_zone`). A
//! direction for which it does not hold is looked up in zone 0. A dump that asks for a zone compares the id and nothing
//! else (`nf_ct_zone_equal_any`): zone 7 finds what has zone 7 on either side or on both, zone 0 only what has none.

/// The id of the zone of an entry whose directions are looked up in these two ([`crate::Connection::original_zone`],
/// [`crate::Connection::reply_zone`]); 0: it has none.
#[must_use]
#[inline]
pub const fn zone_id(original: u16, reply: u16) -> u16 {
    if original == 0 { reply } else { original }
}

#[cfg(test)]
mod tests {
    use super::zone_id;

    #[test]
    fn a_zone_counts_on_either_side_and_none_is_zone_zero() {
        let sides = [(0, 0), (7, 0), (0, 7), (7, 7)];
        assert_eq!(
            sides.map(|(original, reply)| zone_id(original, reply)),
            [0, 7, 7, 7]
        );
    }
}
