//! The body of a watch: frames as they come about.

use std::convert::Infallible;

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame as BodyFrame;

use super::Body;
use super::encode::Encoder;
use crate::world::Watching;

pub(crate) fn watch_body(watching: Watching, encoder: Encoder) -> Body {
    let chunks = stream::unfold((watching, encoder), |(mut watching, encoder)| async move {
        let frames = watching.next().await?;
        let mut out = Vec::new();
        for frame in &frames {
            encoder.frame(frame, &mut out);
        }
        Some((Ok::<_, Infallible>(BodyFrame::data(out.into())), (watching, encoder)))
    });
    StreamBody::new(chunks).boxed_unsync()
}
