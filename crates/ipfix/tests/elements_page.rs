//! `docs/elements.md` says what the code does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

#[path = "../examples/elements/page.rs"]
mod page;

#[test]
fn the_page_of_elements_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/elements.md");
    let written = std::fs::read_to_string(path).unwrap();
    assert!(
        written == page::page(),
        "run: cargo run -p ipfix --example elements > docs/elements.md"
    );
}
