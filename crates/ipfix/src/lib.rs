//! ipfix
