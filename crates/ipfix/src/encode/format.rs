//! A format: a profile compiled for one observation domain and one maximum message size.

use crate::encode::compile::compile;
use crate::encode::step::Step;
use crate::error::FormatError;
use crate::message::{FIRST_TEMPLATE, HEADER_LEN, MAX_MESSAGE_LEN, SET_HEADER_LEN};
use crate::profile::shape::Shape;
use crate::profile::{Layout, Profile, ProfileKind};
use crate::template::Template;

/// What bodies and sessions share: templates and their compiled steps. Immutable; share it by `Arc`.
#[derive(Debug)]
pub struct Format {
    pub(crate) domain: u32,
    pub(crate) max_message_size: usize,
    pub(crate) templates: Vec<CompiledTemplate>,
    /// Index into `templates` for each [`Shape::index`].
    pub(crate) by_shape: [u8; Shape::ALL.len()],
    pub(crate) rules: Rules,
}

/// What differs between collectors' expectations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rules {
    /// RFC 7011: any number of sets in a message and of records in a set; options records.
    Rfc7011,
    /// One set a message, one record a template set, no options templates: what go-ipfix's collector reads.
    OneSet,
}

#[derive(Debug)]
pub(crate) struct CompiledTemplate {
    pub(crate) template: Template,
    pub(crate) steps: Box<[Step]>,
    /// Where the open message of this template is kept: one for all, or one each where a message holds one set.
    pub(crate) lane: usize,
    pub(crate) layout: Layout,
}

impl Format {
    /// Compiles a profile.
    ///
    /// # Errors
    /// `max_message_size` is above 65,535, or below what the longest template or the smallest record of one needs.
    pub fn new(
        profile: &Profile,
        domain: u32,
        max_message_size: usize,
    ) -> Result<Self, FormatError> {
        let rules = match profile.kind {
            ProfileKind::Standard { .. } => Rules::Rfc7011,
            ProfileKind::Antrea => Rules::OneSet,
        };
        let mut by_shape = [0; Shape::ALL.len()];
        let mut templates = Vec::new();
        for (index, (layout, id)) in profile
            .layouts()
            .into_iter()
            .zip(FIRST_TEMPLATE..)
            .enumerate()
        {
            for shape in &layout.shapes {
                if let (Some(place), Ok(index)) =
                    (by_shape.get_mut(shape.index()), u8::try_from(index))
                {
                    *place = index;
                }
            }
            let fields = layout
                .fields
                .iter()
                .map(|field| field.specifier())
                .collect();
            templates.push(CompiledTemplate {
                template: Template {
                    id,
                    scope_fields: 0,
                    fields,
                },
                steps: compile(&layout.fields),
                lane: if rules == Rules::OneSet { index } else { 0 },
                layout,
            });
        }
        let least = templates
            .iter()
            .map(|compiled| {
                compiled
                    .template
                    .encoded_len()
                    .max(compiled.template.least_record_len())
            })
            .max()
            .unwrap_or_default()
            + HEADER_LEN
            + SET_HEADER_LEN;
        if max_message_size > MAX_MESSAGE_LEN || max_message_size < least {
            return Err(FormatError::MessageSize {
                size: max_message_size,
                least,
            });
        }
        Ok(Self {
            domain,
            max_message_size,
            templates,
            by_shape,
            rules,
        })
    }

    /// The observation domain of its flow records.
    pub fn domain(&self) -> u32 {
        self.domain
    }

    /// The most octets of one message, header included.
    pub fn max_message_size(&self) -> usize {
        self.max_message_size
    }

    /// The templates of its flow records, in the order of their ids.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.templates.iter().map(|compiled| &compiled.template)
    }

    /// Each template with the connections that use it, for people: `IPv4, ICMP, translated`.
    pub fn described_templates(&self) -> impl Iterator<Item = (String, &Template)> {
        self.templates.iter().map(|compiled| {
            let shapes: Vec<_> = compiled
                .layout
                .shapes
                .iter()
                .map(|shape| shape.title())
                .collect();
            (shapes.join("; "), &compiled.template)
        })
    }

    /// Whether collectors of this format understand options records.
    pub fn has_options(&self) -> bool {
        self.rules == Rules::Rfc7011
    }

    pub(crate) fn lanes(&self) -> usize {
        if self.rules == Rules::OneSet {
            self.templates.len()
        } else {
            1
        }
    }
}
