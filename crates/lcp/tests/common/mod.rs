//! What several test and benchmark programs of this crate share.

pub(crate) mod dense;
