//! The body of a watch: frames as they come about.

use std::convert::Infallible;

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame as BodyFrame;

use super::Body;
use super::output::Output;
use crate::world::Watching;

pub(super) fn watch_body(watching: Watching, output: Output) -> Body {
    let chunks = stream::unfold((watching, output), |(mut watching, mut output)| async move {
        let frames = watching.next().await?;
        let mut out = Vec::new();
        output.frames(&frames, &mut out);
        Some((Ok::<_, Infallible>(BodyFrame::data(out.into())), (watching, output)))
    });
    StreamBody::new(chunks).boxed_unsync()
}
