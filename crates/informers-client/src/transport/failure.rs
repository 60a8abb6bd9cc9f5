//! From errors of sockets, TLS and HTTP to what a user can do about them.

use std::error::Error as StdError;
use std::io;

use crate::error::Cause;
use crate::{BoxError, ClientError, ConnectionFailure};

/// A failed connection or exchange; shared by all who waited for it.
#[derive(Clone, Debug)]
pub(crate) struct TransportError {
    pub(crate) failure: ConnectionFailure,
    pub(crate) problem: String,
    pub(crate) source: Option<Cause>,
}

impl TransportError {
    pub(crate) fn new(failure: ConnectionFailure, problem: impl Into<String>) -> Self {
        Self { failure, problem: problem.into(), source: None }
    }

    pub(crate) fn during(self, action: &str) -> ClientError {
        let Self { failure, problem, source } = self;
        ClientError::Connection { action: action.to_owned(), failure, problem, source }
    }

    /// What went wrong while connecting to `target`, the URL of the server or of a proxy.
    pub(crate) fn connecting(target: &str, error: BoxError) -> Self {
        let (failure, problem) = judge_connect(target, &*error);
        Self { failure, problem, source: Some(Cause::from(error)) }
    }

    /// What went wrong while a request or an answer was on its way.
    pub(crate) fn exchanging(server: &str, error: hyper::Error) -> Self {
        let (failure, problem) = judge_exchange(server, &error);
        Self { failure, problem, source: Some(Cause::from(Box::new(error) as BoxError)) }
    }

    /// What went wrong in somebody else's hands, while connecting or later.
    pub(crate) fn of_service(server: &str, error: BoxError) -> Self {
        let (failure, problem) = match find::<hyper::Error>(&*error) {
            Some(exchange) => judge_exchange(server, exchange),
            None => judge_connect(server, &*error),
        };
        Self { failure, problem, source: Some(Cause::from(error)) }
    }
}

fn judge_exchange(server: &str, error: &hyper::Error) -> (ConnectionFailure, String) {
    if error.is_parse() {
        let problem = format!("what {server} answers is no HTTP; does the server want https?");
        return (ConnectionFailure::Protocol, problem);
    }
    // TCP keep-alive ends in a timeout too.
    let timed_out = find::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
    if timed_out || error.is_timeout() {
        return (ConnectionFailure::Lost, format!("the connection to {server} does not answer any more"));
    }
    match certificate_problem(error, server) {
        Some(problem) => (ConnectionFailure::Certificate, problem),
        None => (ConnectionFailure::Lost, format!("the connection to {server} broke")),
    }
}

/// The first error of this type in the chain.
pub(crate) fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = beneath(error);
    }
    None
}

/// What caused an error, also where `source` does not tell: an error inside an [`io::Error`] is no source of
/// it, nor is the [`io::Error`] inside one of h2.
fn beneath<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    if let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        return Some(inner);
    }
    if let Some(inner) = error.downcast_ref::<h2::Error>().and_then(h2::Error::get_io) {
        return Some(inner);
    }
    error.source()
}

/// Did the server say that it has not begun with the request, so that it may be sent again?
pub(crate) fn was_not_processed(error: &hyper::Error) -> bool {
    find::<h2::Error>(error).is_some_and(|error| {
        error.reason() == Some(h2::Reason::REFUSED_STREAM)
            || error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR)
    })
}

/// Did the server end the connection in good order?
pub(crate) fn is_graceful(error: &(dyn StdError + 'static)) -> bool {
    find::<h2::Error>(error).is_some_and(|error| error.reason() == Some(h2::Reason::NO_ERROR))
}

/// Did the server name what went wrong, with this stream or the connection?
pub(crate) fn has_reason(error: &(dyn StdError + 'static)) -> bool {
    find::<h2::Error>(error).is_some_and(|error| error.reason().is_some())
}

fn judge_connect(target: &str, error: &(dyn StdError + 'static)) -> (ConnectionFailure, String) {
    if let Some(problem) = certificate_problem(error, target) {
        return (ConnectionFailure::Certificate, problem);
    }
    if let Some(error) = find::<rustls::Error>(error) {
        let problem = match error {
            rustls::Error::InvalidMessage(_) => {
                format!("{target} does not speak TLS; is its URL http instead of https?")
            }
            _ => format!("no TLS session with {target}"),
        };
        return (ConnectionFailure::Tls, problem);
    }
    let mut next = Some(error);
    while let Some(error) = next {
        let said = error.to_string();
        if said == "dns error" || said.contains("failed to lookup address") {
            let problem =
                format!("the host of {target} cannot be resolved; check the name in the URL and the DNS");
            return (ConnectionFailure::NameResolution, problem);
        }
        next = error.source();
    }
    match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => {
            let problem = format!("nothing listens at {target}; check that the server runs, and its URL");
            (ConnectionFailure::Refused, problem)
        }
        Some(io::ErrorKind::TimedOut) => (ConnectionFailure::Timeout, format!("{target} does not answer")),
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe) => {
            (ConnectionFailure::Lost, format!("{target} closed the connection while it was being made"))
        }
        _ => (ConnectionFailure::Other, format!("no connection to {target}")),
    }
}

/// Did the server say by a TLS alert that it wants another client certificate? With TLS 1.3 the alert comes
/// after the handshake, and h2 keeps only its text.
fn is_certificate_alert(error: &(dyn StdError + 'static)) -> bool {
    const ALERTS: [&str; 9] = [
        // Signed by another authority of the same name.
        "DecryptError",
        "CertificateRequired",
        "BadCertificate",
        "UnsupportedCertificate",
        "CertificateRevoked",
        "CertificateExpired",
        "CertificateUnknown",
        "UnknownCA",
        "AccessDenied",
    ];
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if let Some((_, alert)) = text.split_once("received fatal alert: ") {
            return ALERTS.iter().any(|known| alert.starts_with(known));
        }
        next = beneath(error);
    }
    false
}

fn certificate_problem(error: &(dyn StdError + 'static), target: &str) -> Option<String> {
    use rustls::CertificateError as Certificate;
    if is_certificate_alert(error) {
        return Some(format!(
            "{target} does not accept the client certificate; check client-certificate in the kubeconfig"
        ));
    }
    Some(match find::<rustls::Error>(error)? {
        // Authorities of different clusters often have the same name, and then the signature is what is wrong.
        rustls::Error::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => format!(
            "the certificate of {target} is not signed by the configured certificate authority; \
             check certificate-authority in the kubeconfig"
        ),
        rustls::Error::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => format!(
            "the certificate of {target} is for another name; use a host that it is for, or set tls-server-name"
        ),
        rustls::Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            format!("the certificate of {target} has expired; renew it, or check this machine's clock")
        }
        rustls::Error::InvalidCertificate(
            Certificate::NotValidYet | Certificate::NotValidYetContext { .. },
        ) => {
            format!("the certificate of {target} is not valid yet; check this machine's clock")
        }
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
            format!(
                "the certificate of {target} cannot be accepted; \
                 check certificate-authority in the kubeconfig, and the server's certificate"
            )
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn a_certificate_of_an_unforeseen_fault_says_what_to_check() {
        for error in [
            rustls::Error::NoCertificatesPresented,
            rustls::Error::InvalidCertificate(CertificateError::BadEncoding),
        ] {
            let (failure, problem) = judge_connect("https://host:6443", &error);
            assert_eq!(failure, ConnectionFailure::Certificate);
            assert!(problem.contains("https://host:6443"), "{problem}");
            assert!(problem.contains("check certificate-authority in the kubeconfig"), "{problem}");
        }
    }
}
