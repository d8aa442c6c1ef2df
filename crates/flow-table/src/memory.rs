//! Collections for large tables: they grow without moving what they hold, and give memory back in steps.

mod chunked;
mod pages;
mod segmented;

pub(crate) use chunked::Chunked;
pub(crate) use segmented::Segmented;
