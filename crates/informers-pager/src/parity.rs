//! The switches back to client-go's behaviour.

/// Where this pager differs from client-go's on purpose, and how to switch each difference back.
///
/// ```
/// use informers_pager::{Pager, Parity};
///
/// let pager = Pager::new().parity(Parity::client_go_0_37());
/// let one = Parity::default().each_item_keeps_version(true);
/// assert!(one.keeps_version_in_each_item() && !one.notices_cancel_between_pages_only());
/// # drop(pager);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parity {
    each_item_keeps_version: bool,
    full_list_is_one_page: bool,
    cancel_between_pages_only: bool,
}

impl Parity {
    /// All rules as in client-go 0.37.
    #[must_use]
    pub const fn client_go_0_37() -> Self {
        Self { each_item_keeps_version: true, full_list_is_one_page: true, cancel_between_pages_only: true }
    }

    /// Whether [`Pager::each_item`](crate::Pager::each_item) sends the version of the first request with
    /// every later page too. Default `false`: a continuation is token and limit only, since servers refuse
    /// other versions beside a token.
    #[must_use]
    pub const fn each_item_keeps_version(mut self, keeps: bool) -> Self {
        self.each_item_keeps_version = keeps;
        self
    }

    /// Whether the full list that follows an expired token is taken for complete even if it has a continue
    /// token itself. Default `false`: the token is followed.
    #[must_use]
    pub const fn full_list_is_one_page(mut self, one: bool) -> Self {
        self.full_list_is_one_page = one;
        self
    }

    /// Whether a cancellation is noticed between pages only, and not at all after the last one. Default
    /// `false`: it interrupts requests and is noticed before each item.
    #[must_use]
    pub const fn cancel_between_pages_only(mut self, only: bool) -> Self {
        self.cancel_between_pages_only = only;
        self
    }

    /// See [`each_item_keeps_version`](Self::each_item_keeps_version).
    #[must_use]
    pub const fn keeps_version_in_each_item(&self) -> bool {
        self.each_item_keeps_version
    }

    /// See [`full_list_is_one_page`](Self::full_list_is_one_page).
    #[must_use]
    pub const fn takes_full_list_as_one_page(&self) -> bool {
        self.full_list_is_one_page
    }

    /// See [`cancel_between_pages_only`](Self::cancel_between_pages_only).
    #[must_use]
    pub const fn notices_cancel_between_pages_only(&self) -> bool {
        self.cancel_between_pages_only
    }
}
