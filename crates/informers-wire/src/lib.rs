//! Bytes of the Kubernetes API to raw items and frames: list splitter, watch framer, Status, Retry-After, gzip members; no IO
//!
//! Public surface (everything re-exported at the crate root; bodies follow in the next commits):
//!
//! ```text
//! // list.rs
//! pub struct ListSplitter;                       // Debug, Default
//! impl ListSplitter {
//!     pub fn new() -> Self;                      // limit DEFAULT_MAX_SIZE (64 MiB) per item
//!     pub fn with_max_item_size(self, bytes: usize) -> Self;
//!     pub fn push(&mut self, chunk: Bytes);      // then drain next_item
//!     pub fn next_item(&mut self) -> Result<Option<Bytes>, Error>; // None = push more or finish; Error::TooLarge is not fatal, go on
//!     pub fn is_complete(&self) -> bool;         // closing brace seen
//!     pub fn finish(self) -> Result<ListTrailer, Error>;
//! }
//! pub struct ListTrailer { kind: String, api_version: String, resource_version: String, continue_token: Option<String>, remaining_item_count: Option<u64> }
//!
//! // watch.rs
//! pub struct WatchFramer;                        // Debug, Default
//! impl WatchFramer {
//!     pub fn new() -> Self;
//!     pub fn with_max_frame_size(self, bytes: usize) -> Self;
//!     pub fn push(&mut self, chunk: Bytes);
//!     pub fn next_frame(&mut self) -> Result<Option<Bytes>, Error>; // None = push more; no error is fatal here
//!     pub fn finish(self) -> StreamEnd;
//! }
//! pub enum StreamEnd { Clean, MidFrame { bytes: usize } }
//!
//! // frame.rs
//! pub enum WatchFrame {
//!     Added(Bytes), Modified(Bytes), Deleted(Bytes),
//!     Bookmark { version: String, initial_events_end: bool },
//!     Error(Box<Status>),
//!     Unknown { event_type: String, version: Option<String> },
//! }
//! impl WatchFrame { pub fn parse(raw: &Bytes) -> Result<WatchFrame, Error>; }
//!
//! // identity.rs
//! pub struct Identity<'a> { namespace, name, uid, resource_version: Option<Cow<'a, str>> }   // into_owned() -> Identity<'static>
//! pub fn peek_identity(raw: &[u8]) -> Identity<'_>;
//!
//! // status.rs
//! pub struct Status { status: String, message: String, reason: String, code: u16, details: Option<StatusDetails> } // serde, Display, std Error
//! pub struct StatusDetails { name, group, kind, uid: String, causes: Vec<StatusCause>, retry_after_seconds: u32 }
//! pub struct StatusCause { reason /* "type" is "reason" on the wire */, message, field: String }
//! impl Status {
//!     pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self;
//!     pub fn from_body(code: u16, content_type: Option<&str>, body: &[u8]) -> Self;
//!     pub fn is_expired / is_gone / is_too_large_resource_version / is_not_found / is_forbidden / is_unauthorized / is_timeout
//!          / is_internal_error / is_conflict / is_already_exists / is_too_many_requests / is_service_unavailable / ... (&self) -> bool;
//!     pub fn has_cause(&self, reason: &str) -> bool;
//! }
//!
//! // retry_after.rs
//! pub enum RetryAfter { Delay(Duration), At(SystemTime) }
//! impl RetryAfter {
//!     pub fn parse(header: &str) -> Option<Self>;
//!     pub fn from_status(status: &Status) -> Option<Self>;
//!     pub fn delay(self, now: SystemTime, cap: Duration) -> Duration;
//! }
//! pub fn retry_after(header: Option<&str>, status: Option<&Status>, now: SystemTime, cap: Duration) -> Option<Duration>;
//!
//! // warning.rs
//! pub struct Warning { code: u16, agent: String, text: String, date: Option<SystemTime> }
//! impl Warning { pub fn parse_header(value: &str) -> Vec<Warning>; }
//!
//! // encoding.rs
//! pub struct ContentDecoder;
//! impl ContentDecoder {
//!     pub fn from_header(content_encoding: Option<&str>) -> Result<Self, Error>;  // identity, gzip, x-gzip
//!     pub fn push(&mut self, chunk: Bytes);
//!     pub fn next_chunk(&mut self) -> Result<Option<Bytes>, Error>;               // pieces of at most 64 KiB; None = push more
//!     pub fn finish(self) -> Result<(), Error>;                                   // error when cut inside a member
//! }
//!
//! // error.rs
//! #[non_exhaustive] pub enum Error {
//!     Status(Box<Status>),                 // a list was asked for, a Status came
//!     NotAList { kind: Option<String> }, Table,
//!     NotJson { excerpt: String }, Syntax { offset: u64, expected: &'static str, found: String },
//!     Truncated { bytes: u64 }, Envelope { field: &'static str, source: serde_json::Error },
//!     TooLarge(Box<TooLarge>),             // { size, limit, event_type: Option<String>, identity: Identity<'static> }
//!     MalformedFrame(Box<MalformedFrame>), // { event_type: Option<String>, identity: Identity<'static>, reason, excerpt }
//!     UnsupportedEncoding { encoding: String }, Gzip { .. },
//! }
//! ```
