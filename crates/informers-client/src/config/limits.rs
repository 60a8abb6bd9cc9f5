//! Time limits, size limits, HTTP/2 and compression.

use std::time::Duration;

use super::Environment;

/// How long the client waits for what.
///
/// ```
/// use std::time::Duration;
/// use informers_client::Timeouts;
///
/// let timeouts = Timeouts { connect: Duration::from_secs(5), ..Timeouts::default() };
/// assert_eq!(timeouts.tls_handshake, Duration::from_secs(10));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "made by struct update; new limits are rare and documented")]
pub struct Timeouts {
    /// For a TCP connection, over all addresses of the host. Default 30 s, as client-go's.
    pub connect: Duration,
    /// For the TLS handshake. Default 10 s, as client-go's.
    pub tls_handshake: Duration,
    /// Until the head of an answer comes, and between two pieces of a list or of a typed answer. Default
    /// 90 s: an API server gives up on a request by itself after 60 s.
    pub idle: Duration,
    /// For each sending of a typed or raw request, to the end of its answer; none for no limit beside `idle`. It
    /// begins when the request may be sent: neither the turn under a [`RateLimit`](crate::RateLimit) nor the fetching
    /// of credentials counts. Default none, as client-go's. It does not end lists and watches, as client-go's does.
    pub request: Option<Duration>,
    /// How much longer than its own `timeoutSeconds` a watch may be silent before it is given up. Default
    /// 15 s.
    pub watch_slack: Duration,
    /// After how long an unused connection is closed. Default 90 s, as client-go's. Changed certificate files are
    /// looked for as often; a connection that was made with old ones takes no more requests then, and is closed
    /// when as much time has passed again, so that its watches go on with the new ones.
    pub idle_connection: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            tls_handshake: Duration::from_secs(10),
            idle: Duration::from_secs(90),
            request: None,
            watch_slack: Duration::from_secs(15),
            idle_connection: Duration::from_secs(90),
        }
    }
}

/// How much the client accepts, and how much of it at once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "made by struct update; new limits are rare and documented")]
pub struct Limits {
    /// The largest object of a list or frame of a watch in bytes. A larger one is passed over and reported as
    /// [`TooLarge`](informers_core::DecodeErrorKind::TooLarge). Default 64 MiB.
    pub object_size: usize,
    /// The largest answer that is held whole, in bytes: those to typed and raw requests. Default 64 MiB.
    pub body_size: usize,
    /// How many requests share one HTTP/2 connection at most; a server's smaller limit is kept. Further
    /// requests open further connections. Default 100.
    pub streams_per_connection: usize,
    /// How many batches of one list or watch are decoded at the same time. Default: the number of cores, at
    /// most 4. With 1, decoding still runs beside reading.
    pub decoders: usize,
    /// How often a typed or raw request is sent again when the server answers 429 or a 5xx with a time to
    /// wait. Default 10, as client-go's. Lists and watches are not repeated here: their readers do that.
    pub retries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            object_size: 64 << 20,
            body_size: 64 << 20,
            streams_per_connection: 100,
            decoders: cores.min(4),
            retries: 10,
        }
    }
}

/// How HTTP/2 is used.
///
/// The defaults are changed by the variables that client-go knows: any value of `DISABLE_HTTP2` turns it off,
/// `HTTP2_READ_IDLE_TIMEOUT_SECONDS` sets `ping_interval` (0: no pings), `HTTP2_PING_TIMEOUT_SECONDS` sets
/// `ping_timeout`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "made by struct update; new settings are rare and documented")]
pub struct Http2 {
    /// Whether HTTP/2 is offered to servers with TLS. Default true. Without TLS it is always HTTP/1.1.
    pub enabled: bool,
    /// After how long a silence of the server it is pinged; none for never. Default 30 s.
    pub ping_interval: Option<Duration>,
    /// How long the answer to a ping may take before the connection is given up. Default 15 s.
    pub ping_timeout: Duration,
}

impl Http2 {
    pub(crate) fn from_environment(environment: &Environment) -> Self {
        let seconds = |name| {
            let text = environment.var(name)?;
            let number = text.trim().parse::<u64>();
            if number.is_err() {
                tracing::warn!(variable = name, value = text, "not a number of seconds; the default is used");
            }
            number.ok().map(Duration::from_secs)
        };
        let default = Self::default();
        Self {
            enabled: environment.var_os("DISABLE_HTTP2").is_none(),
            ping_interval: seconds("HTTP2_READ_IDLE_TIMEOUT_SECONDS")
                .map_or(default.ping_interval, |interval| {
                    Some(interval).filter(|interval| !interval.is_zero())
                }),
            ping_timeout: seconds("HTTP2_PING_TIMEOUT_SECONDS").unwrap_or(default.ping_timeout),
        }
    }
}

impl Default for Http2 {
    fn default() -> Self {
        Self {
            enabled: true,
            ping_interval: Some(Duration::from_secs(30)),
            ping_timeout: Duration::from_secs(15),
        }
    }
}

/// Whether compressed lists are asked for. Watches always ask for none, since compression delays events; an
/// answer that is compressed all the same is understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gzip {
    /// Except from a server on this machine, where it costs more than it saves.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
