//! What a session adds: sequence numbers, templates sent again, options records in domain 0. Octet by octet from
//! RFC 7011, sections 3.1, 3.4.2 and 4, and RFC 5610, section 3.9.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod golden;

use std::sync::Arc;

use golden::{assert_octets, octets};
use ipfix::message::MessageHeader;
use ipfix::{Format, Profile, Session, Statistics};

fn session(domain: u32, max: usize) -> Session {
    Session::new(Arc::new(
        Format::new(&Profile::standard(None).unwrap(), domain, max).unwrap(),
    ))
}

/// The messages of an octet string, by their length fields.
fn messages(mut octets: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while !octets.is_empty() {
        let (message, rest) = octets.split_at(u16::from_be_bytes([octets[2], octets[3]]).into());
        messages.push(message);
        octets = rest;
    }
    messages
}

fn header(message: &[u8]) -> MessageHeader {
    MessageHeader::parse(message.first_chunk().unwrap()).unwrap()
}

#[test]
fn the_sequence_counts_the_records_sent_before_and_wraps_around() {
    let mut session = session(1, 65_535);
    assert_octets(
        &session.header(114, 1, 5),
        &octets("000a 0082 00000005 00000000 00000001"),
    );
    assert_octets(
        &session.header(4, 0xffff_fffe, 6),
        &octets("000a 0014 00000006 00000001 00000001"),
    );
    assert_octets(
        &session.header(4, 3, 7),
        &octets("000a 0014 00000007 ffffffff 00000001"),
    );
    assert_octets(
        &session.header(4, 1, 7),
        &octets("000a 0014 00000007 00000002 00000001"),
    );
}

#[test]
fn templates_sent_again_carry_the_sequence_and_do_not_move_it() {
    let mut session = session(9, 65_535);
    let first = session.templates(100);
    session.header(4, 41, 101);
    let again = session.templates(700);
    assert_eq!(
        header(&again),
        MessageHeader {
            sequence: 41,
            export_time: 700,
            ..header(&first)
        }
    );
    assert_octets(&again[16..], &first[16..]);
    assert_eq!(session.header(4, 1, 701)[8..12], [0, 0, 0, 41]);
}

#[test]
fn templates_are_split_into_messages_of_the_maximum_size() {
    let whole = session(1, 65_535).templates(1);
    let split = session(1, 512).templates(1);
    let split = messages(&split);
    assert!(split.len() > 1);
    let mut records = Vec::new();
    for message in &split {
        assert!(message.len() <= 512);
        assert_eq!(message[16..18], [0, 2]);
        assert_eq!(
            usize::from(u16::from_be_bytes([message[18], message[19]])),
            message.len() - 16
        );
        records.extend_from_slice(&message[20..]);
    }
    assert_octets(&records, &whole[20..]);
}

const STATISTICS: Statistics = Statistics {
    process_id: 0x1234,
    not_sent_flows: 1,
    not_sent_packets: 2,
    not_sent_octets: 3,
    losses_from_ms: 0x0000_019b_7ca9_8f2e,
    losses_to_ms: 0x0000_019b_7ca9_9c29,
    exported_messages: 4,
    exported_flow_records: 5,
    exported_octets: 6,
};

const RELIABILITY_TEMPLATE: &str = "
    0200 0006 0001  0090 0004                                    # scope exportingProcessId
    00a6 0008 00a7 0008 00a8 0008  0143 0008 0143 0008           # not sent flows, packets, octets; two times
";
const METERING_TEMPLATE: &str = "
    0201 0004 0001  0095 0004                                    # scope observationDomainId
    0029 0008 002a 0008 0028 0008                                # exported messages, flow records, octets
";
const TYPE_TEMPLATE: &str = "
    0202 0009 0002  015a 0004 012f 0002                          # scope privateEnterpriseNumber, informationElementId
    0153 0001 0158 0001 0159 0002 0156 0008 0157 0008 0155 ffff 0154 ffff
";
const RELIABILITY: &str = "
    0200 0030 00001234 0000000000000001 0000000000000002 0000000000000003 0000019b7ca98f2e 0000019b7ca99c29
";

fn text(text: &str) -> String {
    let digits: String = text.bytes().map(|octet| format!("{octet:02x}")).collect();
    format!("{:02x} {digits}\n", text.len())
}

/// Type records of mark (unsigned32, flags), conntrackId (unsigned32, identifier) and logPrefix (string, default).
fn types() -> String {
    let parts = [
        "0000537d 0004 03 05 0000 0000000000000000 00000000ffffffff".to_owned(),
        text("mark") + &text("Mark of the connection in the kernel's connection tracking"),
        "0000537d 0006 03 04 0000 0000000000000000 00000000ffffffff".to_owned(),
        text("conntrackId") + &text("Id of the connection in the kernel's connection tracking"),
        "0000537d 0003 0d 00 0000 0000000000000000 0000000000000000".to_owned(),
        text("logPrefix") + &text("Prefix that the firewall rule gives its log entries"),
    ];
    parts.concat()
}

#[test]
fn options_records_go_in_domain_0_after_their_templates() {
    let mut session = session(9, 65_535);
    session.header(4, 77, 1);
    // Templates, each in a set of its own: 4 + 6 + 24, 4 + 6 + 16, 4 + 6 + 36 octets. Types: 3 * 26 octets, names 5 + 12 + 10, descriptions 59 + 57 + 52.
    let head = format!(
        "0003 0022 {RELIABILITY_TEMPLATE} 0003 001a {METERING_TEMPLATE} 0003 002e {TYPE_TEMPLATE}"
    );
    let metering = "0201 0020 00000009 0000000000000004 0000000000000005 0000000000000006";
    let data = format!("{RELIABILITY} {metering} 0202 0115 {}", types());
    let expected = octets(&format!(
        "000a 01df 695735b0 00000000 00000000 {head} {data}"
    ));
    assert_octets(&session.options(&STATISTICS, 0x6957_35b0), &expected);

    // Five records were sent; the templates are known now.
    let again = octets(&format!("000a 0175 695735b1 00000005 00000000 {data}"));
    assert_octets(&session.options(&STATISTICS, 0x6957_35b1), &again);

    // The flows' own sequence is untouched, and a refresh brings the options templates back.
    assert_eq!(header(&session.templates(1)).sequence, 77);
    assert_eq!(
        messages(&session.options(&STATISTICS, 2))[0][16..18],
        [0, 3]
    );
}

#[test]
fn options_messages_keep_to_the_maximum_size_and_count_on() {
    let octets = session(9, 512).options(&STATISTICS, 1);
    let messages = messages(&octets);
    let sequences: Vec<_> = messages
        .iter()
        .map(|message| (message.len() <= 512, header(message).sequence))
        .collect();
    assert_eq!(sequences[0], (true, 0));
    assert_eq!(messages.len(), 1);
    let octets = session(9, 220).options(&STATISTICS, 1);
    let messages = self::messages(&octets);
    // 16 + 106 + 48 + 32 octets and two records; then at most two types a message.
    let sequences: Vec<_> = messages
        .iter()
        .map(|message| (message.len() <= 220, header(message).sequence))
        .collect();
    assert_eq!(sequences, [(true, 0), (true, 2), (true, 4)]);
}

#[test]
fn where_flows_have_domain_0_too_there_is_one_sequence() {
    let mut session = session(0, 65_535);
    session.header(4, 77, 1);
    assert_eq!(header(&session.options(&STATISTICS, 1)).sequence, 77);
    assert_eq!(session.header(4, 1, 1)[8..12], [0, 0, 0, 82]);
}
