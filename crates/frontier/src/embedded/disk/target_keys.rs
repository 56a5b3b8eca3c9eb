//! How redirect targets and canonical URLs are stored: the key of a target has its owner; the keys of a target and an alias
//! together have no value (`changes/targets.rs`).

use std::ops::RangeInclusive;

use super::records::Owner;
use super::store::Store;
use crate::FrontierError;
use crate::keys::UrlKey;

impl Store {
    pub fn owner(&self, target: UrlKey) -> Result<Option<Owner>, FrontierError> {
        self.record(&self.targets, &target.to_bytes())
    }
}

pub(crate) fn member(target: UrlKey, alias: UrlKey) -> Vec<u8> {
    [target.to_bytes(), alias.to_bytes()].concat()
}

/// The keys of all aliases of a target.
pub(crate) fn members_of(target: UrlKey) -> RangeInclusive<Vec<u8>> {
    member(target, UrlKey::FIRST)..=member(target, UrlKey::LAST)
}
