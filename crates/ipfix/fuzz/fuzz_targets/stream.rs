//! `cargo fuzz run stream`: octets as the decoder gets them, with the checks that the tests make.
#![no_main]

#[path = "../../tests/hostile/checks.rs"]
#[expect(dead_code, reason = "each target uses its half")]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::stream(data));
