//! The texts of `lib/elements.ts` and `lib/options/fields.ts`, shared by the program that prints them and the test that
//! compares them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ipfix::element::{DataType, Element, REVERSE};
use ipfix::{Format, Profile, registry};

const ELEMENTS: &str = "\
/**
 * What records are made of. Written from the registries of elements by
 * `cargo run -p ipfix --example typescript -- elements > lib/elements.ts`; a test fails when they differ.
 */

/**
 * Information elements by registry name, as JSON has them: IANA's, netfilter's (21373), Antrea's (56506) and, of the reverse
 * ones (29305, RFC 5103), those that the exporter sends. A record has those of its template. Numbers are numbers, addresses text, date-times ISO 8601 text in
 * UTC, octets hexadecimal text; null is a boolean or a float that JSON cannot say.
 */
export interface Elements {
";

const STANDARD: &str = "\
/** What every record of the standard profile has, whatever its connection is, unless `fields` says otherwise. */
export type StandardElements = Elements & Required<Pick<Elements, ";

const ANTREA: &str = "\
/** What every record of the antrea profile has. */
export type AntreaElements = Elements & Required<Pick<Elements, ";

/// `lib/elements.ts`.
pub(crate) fn elements() -> String {
    let mut text = ELEMENTS.to_owned();
    let sent: BTreeSet<&str> = [Profile::standard(None), Ok(Profile::antrea())]
        .into_iter()
        .flatten()
        .flat_map(|profile| templates(&profile).into_iter().flatten())
        .collect();
    let mut seen = BTreeSet::new();
    for element in registry::elements() {
        let Some(json) = json(&element) else { continue };
        if element.id.enterprise == REVERSE && !sent.contains(element.name) {
            continue;
        }
        if !seen.insert(element.name) {
            continue;
        }
        let _ = writeln!(
            text,
            "\t/** {}: {}. */\n\t{}?: {json};",
            element.id,
            type_name(element.data_type),
            element.name
        );
    }
    text.push_str("}\n\n");
    for (head, profile) in [
        (STANDARD, Profile::standard(None)),
        (ANTREA, Ok(Profile::antrea())),
    ] {
        text.push_str(head);
        let in_all = profile.map(|profile| common(&profile)).unwrap_or_default();
        for name in in_all {
            let _ = write!(text, "\n\t| '{name}'");
        }
        text.push_str("\n>>;\n");
        if head == STANDARD {
            text.push('\n');
        }
    }
    text
}

/// `lib/options/fields.ts`.
pub(crate) fn fields() -> String {
    let kinds = Profile::kinds();
    let mut text = "\
/**
 * The elements that `fields` takes, each with the kinds of connections whose records have it: a bit for each of `KINDS`, the
 * first one the lowest. Written by `cargo run -p ipfix --example typescript -- fields > lib/options/fields.ts`; a test fails when they differ.
 */
"
    .to_owned();
    text.push_str("export const KINDS = [\n");
    for kind in &kinds {
        let _ = writeln!(text, "\t'{kind}',");
    }
    text.push_str("] as const;\n\nexport const FIELDS = {\n");
    for (name, of) in Profile::field_kinds() {
        let bits = kinds.iter().enumerate().fold(0_u32, |bits, (at, kind)| {
            bits | (u32::from(of.contains(kind)) << at)
        });
        let _ = writeln!(text, "\t{name}: 0x{bits:03x},");
    }
    text.push_str("} as const;\n\n/** The name of an element that `fields` can select. */\nexport type FieldName = keyof typeof FIELDS;\n");
    text
}

/// The names of each template's elements.
fn templates(profile: &Profile) -> Vec<Vec<&'static str>> {
    let format = Format::new(profile, 1, 65_535);
    format
        .map(|format| {
            format
                .templates()
                .map(|template| {
                    let fields = template.fields.iter();
                    fields
                        .filter_map(|field| registry::element(field.element))
                        .map(|element| element.name)
                        .collect()
                })
                .collect()
        })
        .unwrap_or_default()
}

/// Those that all templates have, in their order.
fn common(profile: &Profile) -> Vec<&'static str> {
    let templates = templates(profile);
    let first = templates.first().cloned().unwrap_or_default();
    first
        .into_iter()
        .filter(|name| templates.iter().all(|template| template.contains(name)))
        .collect()
}

/// How JSON says a value of the element; nothing for padding and structured data, which are left out.
fn json(element: &Element) -> Option<&'static str> {
    if element.name == "paddingOctets" {
        return None;
    }
    Some(match element.data_type {
        DataType::Unsigned8
        | DataType::Unsigned16
        | DataType::Unsigned32
        | DataType::Unsigned64
        | DataType::Signed8
        | DataType::Signed16
        | DataType::Signed32
        | DataType::Signed64 => "number",
        DataType::Float32 | DataType::Float64 => "number | null",
        DataType::Boolean => "boolean | null",
        DataType::BasicList | DataType::SubTemplateList | DataType::SubTemplateMultiList => {
            return None;
        }
        _ => "string",
    })
}

/// As the registry writes it.
fn type_name(data_type: DataType) -> String {
    let name = format!("{data_type:?}");
    let (first, rest) = name.split_at(1);
    first.to_lowercase() + rest
}
