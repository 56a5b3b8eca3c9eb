//! Formats: one file each, bytes ⇄ records, both ways, no I/O of their own.
