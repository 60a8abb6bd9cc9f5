//! What most programs need: `use informers::prelude::*;`.
//!
//! ```
//! use informers::prelude::*;
//!
//! fn describe<T>(event: &Event<T>) -> String {
//!     match event {
//!         Event::Added { object, .. } => format!("+ {}", object.key()),
//!         Event::Updated { new, .. } => format!("~ {}", new.key()),
//!         Event::Deleted { last, how: Deletion::Observed } => format!("- {}", last.key()),
//!         Event::Deleted { last, .. } => format!("- {} (noticed later)", last.key()),
//!     }
//! }
//! # let event = Event::Added { object: Entry::keyed(ObjectKey::cluster("a"), ()), initial: false };
//! # assert_eq!(describe(&event), "+ a");
//! ```

pub use crate::Factory;
pub use informers_client::{Api, Client, Config, Patch};
pub use informers_core::{
    Deletion, Entry, Event, Handler, JsonDecoder, ObjectKey, Resource, ResourceScope, ResourceType, Scope,
    Transform,
};
pub use informers_shared::{BacklogPolicy, HandlerGuard, InformerOptions, SharedInformer, Subscription};
pub use informers_store::{Index, Store};
pub use informers_workqueue::WorkQueue;
