//! The guide: how the parts work together, and what to do when they do not.

#[cfg_attr(feature = "kube", doc = include_str!("../guide/first-steps.md"))]
pub mod first_steps {}

#[doc = include_str!("../guide/handlers.md")]
pub mod handlers {}

#[cfg_attr(feature = "kube", doc = include_str!("../guide/controllers.md"))]
pub mod controllers {}

#[doc = include_str!("../guide/operations.md")]
pub mod operations {}

#[doc = include_str!("../guide/from-client-go.md")]
pub mod from_client_go {}
