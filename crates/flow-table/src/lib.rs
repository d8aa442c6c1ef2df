//! flow-table
