//! What TypeScript knows of elements is what the code does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

#[path = "../examples/typescript/page.rs"]
mod page;

fn written(path: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn the_types_of_elements_are_up_to_date() {
    assert!(
        written("lib/elements.ts") == page::elements(),
        "run: cargo run -p ipfix --example typescript -- elements > lib/elements.ts"
    );
}

#[test]
fn the_table_of_selectable_fields_is_up_to_date() {
    assert!(
        written("lib/options/fields.ts") == page::fields(),
        "run: cargo run -p ipfix --example typescript -- fields > lib/options/fields.ts"
    );
}
