//! `cargo +nightly fuzz run connection fuzz/corpus/connection tests/data/connection` in crates/netfilter: new inputs go to the first directory, the
//! golden messages in the second are where it starts from. An input that fails is kept in the second.
#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| netfilter::testing::decoders::connection(octets));
