//! The content of an answer, decompressed, piece by piece, with a limit on silence.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, header};
use informers_wire::ContentDecoder;
use tokio::time::{Instant, Sleep};

use crate::transport::ResponseBody;
use crate::{ClientError, ConnectionFailure};

pub(crate) struct Chunks {
    body: ResponseBody,
    decoder: Option<ContentDecoder>,
    silence: Duration,
    timer: Pin<Box<Sleep>>,
    /// The timer runs only while the body gives nothing; arming it for every piece would cost.
    is_armed: bool,
    action: String,
}

impl Chunks {
    pub(crate) fn new(
        response: Response<ResponseBody>,
        silence: Duration,
        action: &str,
    ) -> Result<Self, ClientError> {
        let encoding = response.headers().get(header::CONTENT_ENCODING);
        let encoding = encoding.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let decoder =
            ContentDecoder::from_header(encoding.as_deref()).map_err(|error| unreadable(action, error))?;
        Ok(Self {
            body: response.into_body(),
            decoder: Some(decoder),
            silence,
            timer: Box::pin(tokio::time::sleep(silence)),
            is_armed: false,
            action: action.to_owned(),
        })
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// The next piece; none at the end. An error ends it too.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ClientError>>> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Poll::Ready(None) };
            match decoder.next_chunk() {
                Ok(Some(chunk)) => return Poll::Ready(Some(Ok(chunk))),
                Ok(None) => {}
                Err(error) => return self.end(unreadable(&self.action, error)),
            }
            match self.body.poll_data(cx) {
                Poll::Ready(Some(Ok(data))) => {
                    self.is_armed = false;
                    decoder.push(data);
                }
                Poll::Ready(Some(Err(error))) => return self.end(error.during(&self.action)),
                Poll::Ready(None) => {
                    let finished = self.decoder.take().map_or(Ok(()), ContentDecoder::finish);
                    return match finished {
                        Ok(()) => Poll::Ready(None),
                        Err(error) => Poll::Ready(Some(Err(cut(&self.action, error)))),
                    };
                }
                Poll::Pending => {
                    if !self.is_armed {
                        self.is_armed = true;
                        // A silence longer than any clock can say is no limit.
                        let Some(deadline) = Instant::now().checked_add(self.silence) else {
                            self.is_armed = false;
                            return Poll::Pending;
                        };
                        self.timer.as_mut().reset(deadline);
                    }
                    if self.timer.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    let problem = format!("the server was silent for {} s", self.silence.as_secs_f32());
                    return self.end(ClientError::Connection {
                        action: self.action.clone(),
                        failure: ConnectionFailure::Lost,
                        problem,
                        source: None,
                    });
                }
            }
        }
    }

    fn end(&mut self, error: ClientError) -> Poll<Option<Result<Bytes, ClientError>>> {
        self.decoder = None;
        Poll::Ready(Some(Err(error)))
    }

    /// Did the body end because the server closes its connections in good order?
    pub(crate) fn was_cut_gracefully(&self) -> bool {
        self.body.was_cut_gracefully()
    }
}

fn unreadable(action: &str, error: informers_wire::Error) -> ClientError {
    ClientError::UnexpectedAnswer {
        action: action.to_owned(),
        problem: "the answer cannot be decompressed".to_owned(),
        source: crate::error::cause(error),
    }
}

fn cut(action: &str, error: informers_wire::Error) -> ClientError {
    ClientError::Connection {
        action: action.to_owned(),
        failure: ConnectionFailure::Lost,
        problem: "the answer was cut".to_owned(),
        source: crate::error::cause(error),
    }
}
