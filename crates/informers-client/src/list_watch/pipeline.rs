//! Decoding of several batches at a time, with the order kept.

use std::collections::VecDeque;
use std::future::Future as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// A batch smaller than this, in bytes, is decoded where it was read: handing it over would cost as much.
const INLINE_BYTES: usize = 32 << 10;

/// A batch of at least so many bytes has the heap extended beforehand.
const LARGE_BYTES: usize = 96 << 10;

/// What the objects of a large batch take. glibc keeps free memory of twice the largest block that it saw, in every
/// heap, so more would cost memory.
const HEAP_BYTES: usize = 768 << 10;

/// Batches in the order in which they were read, some of them still being decoded.
pub(super) struct Pipeline<O> {
    batches: VecDeque<Batch<O>>,
    /// How many decode at most.
    decoders: usize,
    work: Arc<Mutex<Work>>,
    is_unpolled: bool,
}

enum Batch<O> {
    Done(O),
    Pending(oneshot::Receiver<O>),
}

/// Decoding was interrupted.
#[derive(Debug, thiserror::Error)]
#[error("no thread is left to decode")]
pub(super) struct Interrupted;

impl<O: Send + 'static> Pipeline<O> {
    pub(super) fn new(decoders: usize) -> Self {
        Self { batches: VecDeque::new(), decoders: decoders.max(1), work: Arc::default(), is_unpolled: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Whether reading stops meanwhile: when there is one more than are decoded at a time, so that no thread waits
    /// for the reader.
    pub(super) fn is_full(&self) -> bool {
        self.batches.len() > self.decoders
    }

    /// Whether the first batch came since the last poll. Nobody is woken for it before it is polled, so the
    /// reader must not rest until then.
    pub(super) fn is_unpolled(&self) -> bool {
        self.is_unpolled
    }

    /// Decodes a batch of `bytes`, here or elsewhere.
    pub(super) fn push(&mut self, bytes: usize, decode: impl FnOnce() -> O + Send + 'static) {
        let batch = if bytes < INLINE_BYTES && self.is_empty() {
            Batch::Done(decode())
        } else {
            let (sender, receiver) = oneshot::channel();
            self.hand_over(Box::new(move || {
                if bytes >= LARGE_BYTES {
                    extend_heap();
                }
                // Nobody may want it any more.
                drop(sender.send(decode()));
            }));
            Batch::Pending(receiver)
        };
        self.is_unpolled |= self.is_empty();
        self.batches.push_back(batch);
    }

    fn hand_over(&self, job: Job) {
        let mut work = self.work.lock();
        work.jobs.push_back(job);
        if work.decoders < self.decoders {
            work.decoders += 1;
            drop(work);
            let decoder = Decoder { work: Arc::clone(&self.work), is_over: false };
            let runtime = Handle::current();
            if runtime.metrics().num_workers() > 1 {
                drop(runtime.spawn(decoder.run_among_tasks()));
            } else {
                drop(runtime.spawn_blocking(move || decoder.run()));
            }
        }
    }

    /// The next batch in order; none if there is none.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<O, Interrupted>>> {
        self.is_unpolled = false;
        if let Some(Batch::Pending(pending)) = self.batches.front_mut() {
            let done = ready!(Pin::new(pending).poll(cx));
            self.batches.pop_front();
            return Poll::Ready(Some(done.map_err(|_| Interrupted)));
        }
        Poll::Ready(match self.batches.pop_front() {
            Some(Batch::Done(output)) => Some(Ok(output)),
            _ => None,
        })
    }
}

impl<O> Drop for Pipeline<O> {
    fn drop(&mut self) {
        // Not under the lock: with the jobs goes a decoder, which is the user's.
        let jobs = std::mem::take(&mut self.work.lock().jobs);
        drop(jobs);
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// What is to be decoded, and by how many.
#[derive(Default)]
struct Work {
    jobs: VecDeque<Job>,
    decoders: usize,
}

/// Decodes while there is work; for each batch the next one would have to be woken.
///
/// Where the runtime has several workers it is a task among others, which gives way after each batch: one to two
/// milliseconds of a large type. The workers are also who drops the objects. With glibc, memory is given back to the
/// heap of the thread that took it, at a cost if that is another one, and is of no use to others; so objects that are
/// replaced by those of other threads make a store grow.
struct Decoder {
    work: Arc<Mutex<Work>>,
    is_over: bool,
}

impl Decoder {
    async fn run_among_tasks(mut self) {
        while let Some(job) = self.next() {
            decode(job);
            tokio::task::yield_now().await;
        }
    }

    /// On a thread of its own, beside the only one that the runtime has.
    fn run(mut self) {
        while let Some(job) = self.next() {
            decode(job);
        }
    }

    fn next(&mut self) -> Option<Job> {
        let mut work = self.work.lock();
        let job = work.jobs.pop_front();
        if job.is_none() {
            work.decoders -= 1;
            self.is_over = true;
        }
        job
    }
}

impl Drop for Decoder {
    /// A runtime that shuts down drops it before it is done.
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut work = self.work.lock();
        work.decoders -= 1;
        let orphans = if work.decoders == 0 { std::mem::take(&mut work.jobs) } else { VecDeque::new() };
        drop(work);
        drop(orphans);
    }
}

/// Whoever waits for a job that panics sees that no answer will come.
fn decode(job: Job) {
    drop(catch_unwind(AssertUnwindSafe(job)));
}

/// glibc extends the heap of a thread, unless it is the first one, by no more than is asked for: with a system call
/// for each page that objects fill, 190 000 of them for 20 000 pods. A block that is taken and given back extends it
/// once; nobody touches it, so it takes no memory.
fn extend_heap() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(HEAP_BYTES)));
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::mpsc;

    use super::*;

    async fn next(pipeline: &mut Pipeline<u32>) -> Option<Result<u32, Interrupted>> {
        poll_fn(|cx| pipeline.poll_next(cx)).await
    }

    #[tokio::test]
    async fn batches_come_in_order_whichever_is_done_first() {
        let mut pipeline = Pipeline::new(2);
        let (second_is_done, first_may_end) = mpsc::channel();
        pipeline.push(LARGE_BYTES, move || {
            first_may_end.recv().unwrap();
            1
        });
        pipeline.push(LARGE_BYTES, move || {
            second_is_done.send(()).unwrap();
            2
        });
        assert!(!pipeline.is_full());
        pipeline.push(0, || 3);
        assert!(pipeline.is_full());
        for expected in 1..=3 {
            assert_eq!(next(&mut pipeline).await.unwrap().unwrap(), expected);
        }
        assert!(next(&mut pipeline).await.is_none());
    }

    #[tokio::test]
    async fn no_more_decode_than_are_allowed_to() {
        let mut pipeline = Pipeline::new(1);
        for round in 0..100 {
            pipeline.push(LARGE_BYTES, move || round);
            pipeline.push(LARGE_BYTES, move || round);
            assert!(pipeline.work.lock().decoders <= 1);
            assert_eq!(next(&mut pipeline).await.unwrap().unwrap(), round);
            assert_eq!(next(&mut pipeline).await.unwrap().unwrap(), round);
        }
    }

    #[tokio::test]
    async fn a_small_batch_is_decoded_where_it_was_read() {
        let here = std::thread::current().id();
        let mut pipeline = Pipeline::new(2);
        pipeline.push(INLINE_BYTES - 1, move || u32::from(std::thread::current().id() == here));
        assert!(pipeline.is_unpolled());
        assert_eq!(next(&mut pipeline).await.unwrap().unwrap(), 1);
        pipeline.push(INLINE_BYTES, move || u32::from(std::thread::current().id() == here));
        assert_eq!(next(&mut pipeline).await.unwrap().unwrap(), 0);
    }

    #[tokio::test]
    async fn a_panic_harms_no_other_batch() {
        let mut pipeline = Pipeline::new(1);
        pipeline.push(LARGE_BYTES, || panic!("as a test"));
        pipeline.push(LARGE_BYTES, || 2);
        assert!(next(&mut pipeline).await.unwrap().is_err());
        assert_eq!(next(&mut pipeline).await.unwrap().unwrap(), 2);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn several_workers_decode_at_the_same_time_and_in_order() {
        let both = Arc::new(std::sync::Barrier::new(2));
        let worker = |both: &Arc<std::sync::Barrier>| {
            let both = Arc::clone(both);
            move || {
                both.wait();
                std::thread::current().id()
            }
        };
        let (first, second) = (worker(&both), worker(&both));
        let workers = [tokio::spawn(async move { first() }), tokio::spawn(async move { second() })];
        let mut ids = Vec::new();
        for id in workers {
            ids.push(id.await.unwrap());
        }

        let mut pipeline = Pipeline::new(2);
        for number in 0..2 {
            let (worker, ids) = (worker(&both), ids.clone());
            pipeline.push(LARGE_BYTES, move || {
                assert!(ids.contains(&worker()), "not a worker of the runtime");
                number
            });
        }
        for number in 0..2 {
            assert_eq!(next(&mut pipeline).await.unwrap().unwrap(), number);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_panic_harms_no_other_batch_of_a_worker() {
        let mut pipeline = Pipeline::new(1);
        pipeline.push(LARGE_BYTES, || panic!("as a test"));
        pipeline.push(LARGE_BYTES, || 2);
        assert!(next(&mut pipeline).await.unwrap().is_err());
        assert_eq!(next(&mut pipeline).await.unwrap().unwrap(), 2);
    }

    #[test]
    fn a_runtime_that_is_gone_leaves_nobody_waiting() {
        let several = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        nobody_waits_for(several);
        nobody_waits_for(tokio::runtime::Builder::new_current_thread().build().unwrap());
    }

    fn nobody_waits_for(gone: tokio::runtime::Runtime) {
        let handle = gone.handle().clone();
        gone.shutdown_background();
        let mut pipeline = Pipeline::new(2);
        {
            let _entered = handle.enter();
            pipeline.push(LARGE_BYTES, || 1);
            pipeline.push(LARGE_BYTES, || 2);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert!(next(&mut pipeline).await.unwrap().is_err());
            assert!(next(&mut pipeline).await.unwrap().is_err());
            assert!(next(&mut pipeline).await.is_none());
        });
        assert_eq!(pipeline.work.lock().decoders, 0);
    }

    #[tokio::test]
    async fn what_nobody_wants_any_more_is_not_decoded() {
        let mut pipeline = Pipeline::new(1);
        let (go, gate) = mpsc::channel();
        let (begun, has_begun) = mpsc::channel();
        pipeline.push(LARGE_BYTES, move || {
            begun.send(()).unwrap();
            gate.recv().unwrap();
            1
        });
        let (told, hears) = mpsc::channel();
        pipeline.push(LARGE_BYTES, move || {
            told.send(()).unwrap();
            2
        });
        has_begun.recv().unwrap();
        drop(pipeline);
        go.send(()).unwrap();
        // The sender went with its job.
        assert!(hears.recv().is_err());
    }
}
