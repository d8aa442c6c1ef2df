//! netfilter
