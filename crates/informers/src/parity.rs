//! client-go's behaviour in every part.

/// Where the parts differ from client-go on purpose, all together; the default is ours.
///
/// Each part has a `Parity` of its own, whose fields change one rule at a time.
///
/// ```
/// use informers::{Factory, Parity, prelude::*};
///
/// # fn f(client: Client) {
/// let parity = Parity::client_go_0_37();
/// let factory = Factory::builder(client).parity(parity).build();
/// let queue = WorkQueue::<ObjectKey>::builder().parity(parity.workqueue).build();
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parity {
    /// Informers and factories, with the reflectors, queues and stores in them.
    pub shared: informers_shared::Parity,
    /// Work queues.
    pub workqueue: informers_workqueue::Parity,
    /// Lists in pages.
    pub pager: informers_pager::Parity,
}

impl Parity {
    /// client-go 0.37 in every part.
    #[must_use]
    pub fn client_go_0_37() -> Self {
        Self {
            shared: informers_shared::Parity::client_go_0_37(),
            workqueue: informers_workqueue::Parity::client_go_0_37(),
            pager: informers_pager::Parity::client_go_0_37(),
        }
    }
}

/// The part of informers and factories, so that a factory's builder takes the whole.
impl From<Parity> for informers_shared::Parity {
    fn from(parity: Parity) -> Self {
        parity.shared
    }
}
