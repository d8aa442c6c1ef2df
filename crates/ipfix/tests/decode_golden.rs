//! Messages written by hand from the RFCs, and the JSON text that they are read as.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod golden;

use golden::octets;
use ipfix::{DecodeError, DecoderSession, JsonLines, LargeNumbers, Limits};

/// The lines of a stream of messages, or the error that ended it with the lines before.
fn stream(text: &str) -> (Vec<String>, Option<DecodeError>) {
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    let error = session.stream(&octets(text), &mut lines).err();
    (split(&mut lines), error)
}

fn read(text: &str) -> Vec<String> {
    let (lines, error) = stream(text);
    assert_eq!(error, None);
    lines
}

fn split(lines: &mut JsonLines) -> Vec<String> {
    let (text, records) = lines.take();
    let lines: Vec<_> = String::from_utf8(text)
        .unwrap()
        .lines()
        .map(ToString::to_string)
        .collect();
    assert_eq!(lines.len() as u64, records);
    lines
}

const MESSAGE: &str = r#""message":{"exportTime":"2026-01-02T03:04:16.000Z","observationDomainId":1,"sequenceNumber":0,"templateId":256}}"#;

/// One message of domain 1 with a template 256 of these field specifiers and one data set of these octets, and its one
/// line without the message's object.
fn one(fields: &str, data: &str) -> String {
    let specifiers = octets(fields);
    let mut count = 0;
    let mut at = 0;
    while at < specifiers.len() {
        at += if specifiers[at] & 0x80 == 0 { 4 } else { 8 };
        count += 1;
    }
    let template = format!(
        "0002 {:04x} 0100 {count:04x} {fields}",
        8 + specifiers.len()
    );
    let set = format!("0100 {:04x} {data}", 4 + octets(data).len());
    let length = 16 + octets(&template).len() + octets(&set).len();
    let lines = read(&format!(
        "000a {length:04x} 695735b0 00000000 00000001 {template} {set}"
    ));
    assert_eq!(lines.len(), 1, "{lines:?}");
    let record = lines[0]
        .strip_suffix(MESSAGE)
        .unwrap_or_else(|| panic!("{}", lines[0]));
    if record == "{" {
        "{}".into()
    } else {
        record.strip_suffix(',').unwrap().to_owned() + "}"
    }
}

#[test]
fn a_flow_record_has_its_elements_by_name_and_its_message() {
    let lines = read(
        "000a 003c 695735b0 0000002a 00000007
         0002 0014 0100 0003  0008 0004  000c 0004  0001 0008
         0100 0014 c0000201 c6336402 ffffffffffffffff
         0003 0004   # an options template set without a template",
    );
    assert_eq!(
        lines,
        [
            r#"{"sourceIPv4Address":"192.0.2.1","destinationIPv4Address":"198.51.100.2","octetDeltaCount":18446744073709551615,"message":{"exportTime":"2026-01-02T03:04:16.000Z","observationDomainId":7,"sequenceNumber":42,"templateId":256}}"#
        ]
    );
}

#[test]
fn reverse_elements_have_reverse_names() {
    // RFC 5103, section 6.1: enterprise 29305 = 0x7279.
    assert_eq!(
        one(
            "8001 0008 00007279  8002 0004 00007279",
            "0000000000000005 00000007"
        ),
        r#"{"reverseOctetDeltaCount":5,"reversePacketDeltaCount":7}"#
    );
}

#[test]
fn date_times_are_iso_8601_with_the_digits_of_their_type() {
    assert_eq!(
        one(
            "0096 0004  0098 0008  009a 0008  009c 0008",
            // The last two are NTP: 1767323045 s + 2208988800 s = 0xed01b425; the fraction .678 is 0xad916872.b…, cut off.
            "695735a5  0000019b7ca98f2e  ed01b425 ad916872  ed01b425 ad916872"
        ),
        r#"{"flowStartSeconds":"2026-01-02T03:04:05.000Z","flowStartMilliseconds":"2026-01-02T03:04:05.678Z","flowStartMicroseconds":"2026-01-02T03:04:05.678000Z","flowStartNanoseconds":"2026-01-02T03:04:05.678000000Z"}"#
    );
    // A fraction that is nearly a second is the next one.
    assert_eq!(
        one(
            "009a 0008  009c 0008",
            "ed01b425 ffffffff  ed01b425 ffffffff"
        ),
        r#"{"flowStartMicroseconds":"2026-01-02T03:04:06.000000Z","flowStartNanoseconds":"2026-01-02T03:04:06.000000000Z"}"#
    );
}

#[test]
fn every_type_has_its_form() {
    assert_eq!(
        one(
            "001b 0010  0038 0006  0114 0001  0114 0001  0137 0008  01b2 0004  0052 ffff  005f ffff",
            "20010db8000000000000000000000001  00005e005301  01  03  3fe0000000000000  fffffffe
             06 65746830220a  03 0a0b0c"
        ),
        r#"{"sourceIPv6Address":"2001:db8::1","sourceMacAddress":"00:00:5e:00:53:01","dataRecordsReliability":true,"dataRecordsReliability_2":null,"samplingProbability":0.5,"mibObjectValueInteger":-2,"interfaceName":"eth0\"\n","applicationId":"0a0b0c"}"#
    );
    assert_eq!(
        one("0137 0004  0137 0008", "3e800000 7ff8000000000000"),
        r#"{"samplingProbability":0.25,"samplingProbability_2":null}"#
    );
}

#[test]
fn integers_of_reduced_size_are_numbers() {
    // RFC 7011, section 6.2.
    assert_eq!(
        one(
            "0001 0001  0002 0003  01b2 0002  000a 0002",
            "ff 010000 ffff 0002"
        ),
        r#"{"octetDeltaCount":255,"packetDeltaCount":65536,"mibObjectValueInteger":-1,"ingressInterface":2}"#
    );
}

#[test]
fn integers_that_a_double_would_round_may_be_text() {
    // octetDeltaCount 2^53 - 1, 2^53 and 2^64 - 1, mibObjectValueInteger (signed32 at eight octets) -(2^53 - 1) and -2^63.
    let message = octets(
        "000a 0058 695735b0 00000000 00000001
         0002 001c 0100 0005  0001 0008  0001 0008  0001 0008  01b2 0008  01b2 0008
         0100 002c 001fffffffffffff 0020000000000000 ffffffffffffffff ffe0000000000001 8000000000000000",
    );
    let written = |lines: JsonLines| {
        let mut lines = lines;
        DecoderSession::default()
            .stream(&message, &mut lines)
            .unwrap();
        split(&mut lines).remove(0)
    };
    assert_eq!(
        written(JsonLines::new(true)),
        format!(
            r#"{{"octetDeltaCount":9007199254740991,"octetDeltaCount_2":9007199254740992,"octetDeltaCount_3":18446744073709551615,"mibObjectValueInteger":-9007199254740991,"mibObjectValueInteger_2":-9223372036854775808,{MESSAGE}"#
        )
    );
    assert_eq!(
        written(JsonLines::new(true).with_large_numbers(LargeNumbers::Text)),
        format!(
            r#"{{"octetDeltaCount":9007199254740991,"octetDeltaCount_2":"9007199254740992","octetDeltaCount_3":"18446744073709551615","mibObjectValueInteger":-9007199254740991,"mibObjectValueInteger_2":"-9223372036854775808",{MESSAGE}"#
        )
    );
}

#[test]
fn a_record_says_who_sent_it() {
    let mut lines = JsonLines::new(true).with_peer("[2001:db8::1]:4739\u{1b}");
    DecoderSession::default()
        .stream(&octets(&format!("{TEMPLATE_4} {DATA}")), &mut lines)
        .unwrap();
    let line = split(&mut lines).remove(0);
    assert!(
        line.ends_with(r#""templateId":256,"peer":"[2001:db8::1]:4739\u001b"}}"#),
        "{line}"
    );
}

#[test]
fn unknown_elements_are_hexadecimal_under_number_and_enterprise() {
    // 0x1e61 = 7777.
    assert_eq!(
        one(
            "8063 0002 00001e61  8063 ffff 00001e61  0041 0001  800f 0001 0000dcba",
            "0a0b 01ff 07 63"
        ),
        r#"{"7777/99":"0a0b","7777/99_2":"ff","0/65":"07","56506/15":"63"}"#
    );
}

#[test]
fn a_known_element_at_a_length_that_it_cannot_have_is_hexadecimal() {
    assert_eq!(
        one("0008 0003  0098 0004", "c00002 00000001"),
        r#"{"sourceIPv4Address":"c00002","flowStartMilliseconds":"00000001"}"#
    );
}

#[test]
fn structured_data_padding_and_empty_fields_are_left_out() {
    // basicList 291, subTemplateList 292, subTemplateMultiList 293, paddingOctets 210, a string of length 0.
    assert_eq!(
        one(
            "0123 ffff  0124 ffff  0125 ffff  00d2 0003  0052 0000  0004 0001",
            "05 ff00080004 03 ff0100 00 000000 06"
        ),
        r#"{"protocolIdentifier":6}"#
    );
    assert_eq!(one("00d2 0001", "00"), "{}");
}

#[test]
fn variable_lengths_of_254_255_and_65000_octets_are_read() {
    for (len, prefix) in [
        (254_usize, "fe".to_owned()),
        (255, "ff00ff".to_owned()),
        (65_000, "fffde8".to_owned()),
    ] {
        let text = "61".repeat(len);
        let expected = format!(
            r#"{{"interfaceName":"{}","protocolIdentifier":6}}"#,
            "a".repeat(len)
        );
        assert_eq!(
            one("0052 ffff  0004 0001", &format!("{prefix} {text} 06")),
            expected
        );
    }
    // RFC 7011, section 7: the long form may also be used for short values.
    assert_eq!(one("0052 ffff", "ff0001 61"), r#"{"interfaceName":"a"}"#);
}

#[test]
fn a_set_may_end_in_padding_shorter_than_a_record() {
    let lines = read(
        "000a 002a 695735b0 00000000 00000001
         0002 000c 0100 0001 0008 0004
         0100 000e c0000201 c0000202 0000",
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn an_options_record_has_its_scope_as_an_object() {
    // Two scope fields of three: privateEnterpriseNumber, informationElementId | informationElementName.
    let lines = read(
        "000a 0034 695735b0 00000000 00000000
         0003 0016 0100 0003 0002  015a 0004 012f 0002 0155 ffff
         0100 000e 0000537d 0004 03 6f6e65",
    );
    assert_eq!(
        lines,
        [
            r#"{"scope":{"privateEnterpriseNumber":21373,"informationElementId":4},"informationElementName":"one","message":{"exportTime":"2026-01-02T03:04:16.000Z","observationDomainId":0,"sequenceNumber":0,"templateId":256}}"#
        ]
    );
}

#[test]
fn a_scope_of_nothing_to_say_is_an_empty_object() {
    let lines = read(
        "000a 002c 695735b0 00000000 00000000
         0003 0012 0100 0002 0001  0123 ffff  0004 0001
         0100 000a 03 010203 0600",
    );
    assert!(
        lines[0].starts_with(r#"{"scope":{},"protocolIdentifier":6,"message":"#),
        "{}",
        lines[0]
    );
}

#[test]
fn options_records_can_be_left_out() {
    let mut lines = JsonLines::new(false);
    let message = octets(
        "000a 0032 695735b0 00000000 00000000
         0003 0012 0100 0002 0001  0090 0004  0029 0008
         0100 0010 00000001 0000000000000009",
    );
    let mut session = DecoderSession::default();
    session.stream(&message, &mut lines).unwrap();
    assert_eq!(session.stats().records, 1);
    assert!(split(&mut lines).is_empty());
}

const TEMPLATE_4: &str = "000a 001c 695735b0 00000000 00000001  0002 000c 0100 0001 0004 0001";
const TEMPLATE_5: &str = "000a 001c 695735b0 00000000 00000001  0002 000c 0100 0001 0005 0001";
const DATA: &str = "000a 0015 695735b0 00000000 00000001  0100 0005 06";

#[test]
fn a_template_holds_in_its_own_domain_only() {
    let other = "000a 0015 695735b0 00000000 00000002  0100 0005 06";
    assert_eq!(read(&format!("{TEMPLATE_4} {other}")).len(), 0);
    assert_eq!(read(&format!("{TEMPLATE_4} {DATA}")).len(), 1);
}

#[test]
fn a_template_can_be_withdrawn_and_defined_anew() {
    let withdraw = "000a 0018 695735b0 00000000 00000001  0002 0008 0100 0000";
    let lines = read(&format!(
        "{TEMPLATE_4} {DATA} {withdraw} {DATA} {TEMPLATE_5} {DATA}"
    ));
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with(r#"{"protocolIdentifier":6,"#));
    assert!(lines[1].starts_with(r#"{"ipClassOfService":6,"#));
}

#[test]
fn all_templates_are_withdrawn_by_the_set_id_and_options_templates_apart() {
    let all = "000a 0018 695735b0 00000000 00000001  0002 0008 0002 0000";
    let all_options = "000a 0018 695735b0 00000000 00000001  0003 0008 0003 0000";
    assert_eq!(
        read(&format!("{TEMPLATE_4} {all_options} {DATA} {all} {DATA}")).len(),
        1
    );
}

#[test]
fn a_template_is_redefined_without_a_withdrawal_too() {
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    let text = format!("{TEMPLATE_4} {DATA} {TEMPLATE_4} {DATA} {TEMPLATE_5} {DATA}");
    session.stream(&octets(&text), &mut lines).unwrap();
    let lines = split(&mut lines);
    assert!(lines[1].starts_with(r#"{"protocolIdentifier":6,"#));
    assert!(lines[2].starts_with(r#"{"ipClassOfService":6,"#));
    assert_eq!(session.stats().redefined_templates, 1);
}

#[test]
fn a_session_that_forgot_its_templates_reads_again_when_they_come_again() {
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    session
        .stream(&octets(&format!("{TEMPLATE_4} {DATA}")), &mut lines)
        .unwrap();
    session.forget_templates();
    session.stream(&octets(DATA), &mut lines).unwrap();
    let stats = session.stats();
    assert_eq!((stats.records, stats.unknown_template_sets), (1, 1));
    session
        .stream(&octets(&format!("{TEMPLATE_4} {DATA}")), &mut lines)
        .unwrap();
    assert_eq!(session.stats().records, 2);
}

#[test]
fn over_udp_a_withdrawal_is_ignored() {
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    for text in [
        TEMPLATE_4,
        "000a 0018 695735b0 00000000 00000001  0002 0008 0100 0000",
        DATA,
    ] {
        session.datagram(&octets(text), &mut lines).unwrap();
    }
    assert_eq!(split(&mut lines).len(), 1);
}

#[test]
fn a_data_set_without_its_template_is_passed_over_and_counted() {
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    session
        .stream(&octets(&format!("{DATA} {TEMPLATE_4} {DATA}")), &mut lines)
        .unwrap();
    assert_eq!(split(&mut lines).len(), 1);
    assert_eq!(session.stats().unknown_template_sets, 1);
}

#[test]
fn sets_with_a_reserved_id_are_passed_over_and_counted() {
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    let reserved = "000a 0018 695735b0 00000000 00000001  00ff 0008 00000000";
    session
        .stream(
            &octets(&format!("{TEMPLATE_4} {reserved} {DATA}")),
            &mut lines,
        )
        .unwrap();
    assert_eq!(split(&mut lines).len(), 1);
    assert_eq!(session.stats().reserved_sets, 1);
}

#[test]
fn sequence_gaps_are_counted_by_domain_and_over_the_wrap() {
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    let data = |sequence: u32, domain: u32| {
        octets(&format!(
            "000a 0016 695735b0 {sequence:08x} {domain:08x}  0100 0006 0606"
        ))
    };
    let template = |domain: u32| {
        octets(&format!(
            "000a 001c 695735b0 fffffffe {domain:08x}  0002 000c 0100 0001 0004 0001"
        ))
    };
    for message in [
        template(1),
        template(2),
        data(0xffff_fffe, 1),
        data(0xffff_fffe, 2),
        data(0, 1),
        data(5, 2),
    ] {
        session.datagram(&message, &mut lines).unwrap();
    }
    let stats = session.stats();
    assert_eq!((stats.sequence_gaps, stats.missing_records), (1, 5));
    assert_eq!(session.sequence(1).unwrap().gaps, 0);
    assert_eq!(session.sequence(2).unwrap().missing_records, 5);
    assert_eq!(session.sequence(3), None);
}

#[test]
fn each_fault_has_its_reason() {
    let cases = [
        (
            "0009 0014 695735b0 00000000 00000001 0002 0004",
            DecodeError::Version { found: 9 },
        ),
        (
            "000a 000f 695735b0 00000000 00000001",
            DecodeError::MessageLength { length: 15 },
        ),
        (
            "000a 0013 695735b0 00000000 00000001 000200",
            DecodeError::TrailingOctets { octets: 3 },
        ),
        (
            "000a 0014 695735b0 00000000 00000001 0002 0005",
            DecodeError::SetLength {
                id: 2,
                length: 5,
                left: 4,
            },
        ),
        (
            "000a 0014 695735b0 00000000 00000001 0100 0003",
            DecodeError::SetLength {
                id: 256,
                length: 3,
                left: 4,
            },
        ),
        (
            "000a 0018 695735b0 00000000 00000001 0002 0008 00ff 0001",
            DecodeError::TemplateId { id: 255 },
        ),
        (
            "000a 0018 695735b0 00000000 00000001 0002 0008 0100 0001",
            DecodeError::TemplateLength { id: 256, fields: 1 },
        ),
        (
            "000a 001c 695735b0 00000000 00000001 0002 000c 0100 0001 8004 0001",
            DecodeError::TemplateLength { id: 256, fields: 1 },
        ),
        (
            "000a 001e 695735b0 00000000 00000001 0003 000e 0100 0001 0000 0004 0001",
            DecodeError::ScopeCount {
                id: 256,
                scope: 0,
                fields: 1,
            },
        ),
        (
            "000a 001c 695735b0 00000000 00000001 0002 000c 0100 0001 0052 0000",
            DecodeError::EmptyRecord { id: 256 },
        ),
        (
            "000a 0018 695735b0 00000000 00000001 0002 0008 0100 0401",
            DecodeError::Limit {
                what: "fields in a template",
                limit: 1024,
            },
        ),
        (
            "000a 0022 695735b0 00000000 00000001 0002 000c 0100 0001 0052 ffff  0100 0006 0261",
            DecodeError::RecordLength { template: 256 },
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(stream(text), (Vec::new(), Some(expected.clone())), "{text}");
        let datagram = DecoderSession::default().datagram(&octets(text), &mut JsonLines::new(true));
        assert_eq!(datagram, Err(expected), "{text}");
    }
}

#[test]
fn a_fault_ends_a_stream_and_skips_a_datagram() {
    let bad = "000a 0014 695735b0 00000000 00000001 0002 0005";
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    let expected = DecodeError::SetLength {
        id: 2,
        length: 5,
        left: 4,
    };
    assert_eq!(
        session.stream(
            &octets(&format!("{TEMPLATE_4} {DATA} {bad} {DATA}")),
            &mut lines
        ),
        Err(expected.clone())
    );
    assert_eq!(
        session.stream(&octets(DATA), &mut lines),
        Err(expected.clone())
    );
    assert_eq!(session.end_of_stream(), Err(expected.clone()));
    assert_eq!(
        (split(&mut lines).len(), session.stats().bad_messages),
        (1, 1)
    );

    let mut session = DecoderSession::default();
    session.datagram(&octets(TEMPLATE_4), &mut lines).unwrap();
    assert_eq!(session.datagram(&octets(bad), &mut lines), Err(expected));
    session.datagram(&octets(DATA), &mut lines).unwrap();
    assert_eq!(
        (split(&mut lines).len(), session.stats().bad_messages),
        (1, 1)
    );
}

#[test]
fn a_datagram_is_one_whole_message() {
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    let message = octets(TEMPLATE_4);
    assert_eq!(
        session.datagram(&message[..15], &mut lines),
        Err(DecodeError::Truncated { octets: 15 })
    );
    assert_eq!(
        session.datagram(&message[..27], &mut lines),
        Err(DecodeError::DatagramLength {
            octets: 27,
            length: 28
        })
    );
    let longer = [&message[..], &[0]].concat();
    assert_eq!(
        session.datagram(&longer, &mut lines),
        Err(DecodeError::DatagramLength {
            octets: 29,
            length: 28
        })
    );
    assert_eq!(session.stats().bad_messages, 3);
}

#[test]
fn a_file_that_ends_inside_a_message_gives_what_is_whole_and_says_so() {
    let octets = octets(&format!("{TEMPLATE_4} {DATA} {DATA}"));
    let mut session = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    session
        .stream(&octets[..octets.len() - 1], &mut lines)
        .unwrap();
    assert_eq!(split(&mut lines).len(), 1);
    assert_eq!(
        session.end_of_stream(),
        Err(DecodeError::Truncated { octets: 20 })
    );
    session
        .stream(&octets[octets.len() - 1..], &mut lines)
        .unwrap();
    assert_eq!(session.end_of_stream(), Ok(()));
}

#[test]
fn what_a_session_remembers_is_bounded() {
    let limits = Limits {
        templates: 2,
        fields_per_template: 3,
        fields: 4,
        domains: 2,
    };
    let template = |domain: u32, id: u16, fields: u16| {
        let specifiers = "0004 0001".repeat(fields.into());
        let set = 8 + 4 * fields;
        octets(&format!(
            "000a {:04x} 695735b0 00000000 {domain:08x} 0002 {set:04x} {id:04x} {fields:04x} {specifiers}",
            16 + set
        ))
    };
    let mut session = DecoderSession::new(limits);
    let mut lines = JsonLines::new(true);
    let mut feed = |message: Vec<u8>| session.datagram(&message, &mut lines);
    let over = |what, limit| Err(DecodeError::Limit { what, limit });
    assert_eq!(feed(template(1, 256, 4)), over("fields in a template", 3));
    assert_eq!(feed(template(1, 256, 3)), Ok(()));
    assert_eq!(feed(template(2, 256, 2)), over("template fields", 4));
    assert_eq!(feed(template(2, 256, 1)), Ok(()));
    assert_eq!(feed(template(1, 257, 1)), over("templates", 2));
    // A redefinition takes the place of what it replaces.
    assert_eq!(feed(template(1, 256, 2)), Ok(()));
    assert_eq!(feed(template(2, 256, 2)), Ok(()));
    assert_eq!(feed(template(3, 256, 1)), over("observation domains", 2));
    // What is withdrawn makes room.
    let mut session = DecoderSession::new(limits);
    for _ in 0..3 {
        session.stream(&template(1, 256, 3), &mut lines).unwrap();
        session
            .stream(
                &octets("000a 0018 695735b0 00000000 00000001 0002 0008 0002 0000"),
                &mut lines,
            )
            .unwrap();
    }
}
