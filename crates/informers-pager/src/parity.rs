//! The switches back to client-go's behaviour.

/// Where this pager differs from client-go's on purpose: each field switches one difference back, and all are off by
/// default, which is the better behaviour everywhere.
///
/// ```
/// use informers_pager::{Pager, Parity};
///
/// let pager = Pager::new().parity(Parity::client_go_0_37());
/// let mut one = Parity::default();
/// one.each_item_keeps_version = true;
/// # drop(pager);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parity {
    /// [`Pager::each_item`](crate::Pager::each_item) sends the version of the first request with every later page too. By
    /// default a continuation is token and limit only, since servers refuse other versions beside a token.
    pub each_item_keeps_version: bool,
    /// The full list that follows an expired token is taken for complete even if it has a continue token itself. By
    /// default the token is followed.
    pub full_list_is_one_page: bool,
    /// A cancellation is noticed between pages only, and not at all after the last one. By default it interrupts requests
    /// and is noticed before each item.
    pub cancel_between_pages_only: bool,
}

impl Parity {
    /// Everything as in client-go 0.37.
    #[must_use]
    pub const fn client_go_0_37() -> Self {
        Self { each_item_keeps_version: true, full_list_is_one_page: true, cancel_between_pages_only: true }
    }
}
