//! Prints TypeScript from the tables of elements, from which an editor knows what a record has and `fields` takes.
//!
//! `cargo run -p ipfix --example typescript -- elements > lib/elements.ts`
//! `cargo run -p ipfix --example typescript -- fields > lib/options/fields.ts`

#[path = "typescript/page.rs"]
mod page;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("elements") => print!("{}", page::elements()),
        Some("fields") => print!("{}", page::fields()),
        _ => {
            eprintln!("expected: elements or fields");
            std::process::exit(2);
        }
    }
}
