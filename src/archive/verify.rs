//! Is everything in an archive whole?
