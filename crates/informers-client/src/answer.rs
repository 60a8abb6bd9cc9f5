//! Answers that are read whole: errors, and single objects.

use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http::{Response, header};
use informers_wire::{Status, retry_after};

use crate::ClientError;
use crate::chunks::Chunks;
use crate::transport::ResponseBody;

/// A server that asks for more patience than this is not taken at its word.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);
/// How much of an error's body is read, and how long.
const MAX_ERROR_BODY: usize = 256 << 10;
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);

/// The value of a header as text.
pub(crate) fn text<B>(response: &Response<B>, name: header::HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

/// What a server says by an answer that is no success.
pub(crate) async fn refusal(response: Response<ResponseBody>, action: &str) -> ClientError {
    let code = response.status().as_u16();
    let content_type = text(&response, header::CONTENT_TYPE).map(str::to_owned);
    let hint = text(&response, header::RETRY_AFTER).map(str::to_owned);
    let read = async {
        let mut chunks = Chunks::new(response, ERROR_BODY_TIME, action)?;
        let mut body = BytesMut::new();
        // What was read of a body that is cut or too long may still say enough.
        while let Some(Ok(chunk)) = chunks.next().await {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ERROR_BODY {
                break;
            }
        }
        Ok::<_, ClientError>(body.freeze())
    };
    let body =
        tokio::time::timeout(ERROR_BODY_TIME, read).await.ok().and_then(Result::ok).unwrap_or_default();
    let status = Status::from_body(code, content_type.as_deref(), &body);
    status_error(status, hint.as_deref(), action)
}

/// The error for a `Status`; `hint` is the `Retry-After` header, if there was one.
pub(crate) fn status_error(status: Status, hint: Option<&str>, action: &str) -> ClientError {
    let retry_after = retry_after(hint, Some(&status), SystemTime::now(), MAX_RETRY_AFTER);
    ClientError::Status { action: action.to_owned(), status: Box::new(status), retry_after }
}

/// Reads a body whole, up to a limit.
pub(crate) async fn whole(
    response: Response<ResponseBody>,
    idle: Duration,
    limit: usize,
    action: &str,
) -> Result<Bytes, ClientError> {
    let mut chunks = Chunks::new(response, idle, action)?;
    let mut body = BytesMut::new();
    let mut only: Option<Bytes> = None;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if body.len() + chunk.len() > limit {
            return Err(ClientError::UnexpectedAnswer {
                action: action.to_owned(),
                problem: format!("the answer is larger than {limit} bytes (Limits::body_size)"),
                source: None,
            });
        }
        match only.take() {
            None if body.is_empty() => only = Some(chunk),
            first => {
                body.extend_from_slice(&first.unwrap_or_default());
                body.extend_from_slice(&chunk);
            }
        }
    }
    Ok(only.unwrap_or_else(|| body.freeze()))
}
