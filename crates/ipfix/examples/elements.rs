//! Prints `docs/elements.md`: each template's elements with their lengths, from the code that writes them.
//!
//! `cargo run -p ipfix --example elements > docs/elements.md`

#[path = "elements/page.rs"]
mod page;

fn main() {
    print!("{}", page::page());
}
