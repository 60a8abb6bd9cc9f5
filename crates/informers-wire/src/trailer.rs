//! What a list says about itself.

use serde::Deserialize;

/// What a list says about itself, beside its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListTrailer {
    /// Kind of the list, such as `PodList`.
    pub kind: String,
    /// Group and version, such as `apps/v1`; empty if the server left it out.
    pub api_version: String,
    /// `metadata.resourceVersion`: where a watch may begin. Empty if the server left it out.
    pub resource_version: String,
    /// `metadata.continue`: the token of the next page; none on the last one.
    pub continue_token: Option<String>,
    /// `metadata.remainingItemCount`: about how many items follow on later pages, where the server tells.
    pub remaining_item_count: Option<u64>,
}

/// `metadata` of a list, as far as it is used. Every field may be missing or null.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMeta {
    pub(crate) resource_version: Option<String>,
    pub(crate) r#continue: Option<String>,
    pub(crate) remaining_item_count: Option<i64>,
}
