use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn delays<T>(limiter: &impl RateLimiter<T>, item: &T, count: usize) -> Vec<Duration> {
    let now = Instant::now();
    (0..count).map(|_| limiter.when(item, now)).collect()
}

#[test]
fn item_exponential_failure_rate_limiter() {
    let limiter = ItemExponentialFailure::new(ms(1), s(1));
    assert_eq!(delays(&limiter, &"one", 5), [ms(1), ms(2), ms(4), ms(8), ms(16)]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&limiter, &"two", 2), [ms(1), ms(2)]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&limiter, &"one", 1), [ms(1)]);
}

#[test]
fn item_exponential_failure_rate_limiter_overflow() {
    let limiter = ItemExponentialFailure::new(ms(1), s(1000));
    assert_eq!(delays(&limiter, &"one", 6)[5], ms(32));
    assert_eq!(delays(&limiter, &"overflow", 1200).last(), Some(&s(1000)));
    let limiter = ItemExponentialFailure::new(s(60), s(1000 * 3600));
    assert_eq!(delays(&limiter, &"two", 3)[2], s(240));
    assert_eq!(delays(&limiter, &"overflow", 1200).last(), Some(&s(1000 * 3600)));
}

#[test]
fn exponential_edges_have_one_answer_on_every_platform() {
    let zero = ItemExponentialFailure::new(Duration::ZERO, s(1));
    assert!(delays(&zero, &"a", 1100).iter().all(Duration::is_zero));
    // 1 ns doubles to exactly 2^63 ns at the 64th failure.
    let power_of_two = ItemExponentialFailure::new(Duration::from_nanos(1), Duration::MAX);
    let all = delays(&power_of_two, &"a", 65);
    assert_eq!(all[62], Duration::from_nanos(1 << 62));
    assert_eq!(all[63..], [Duration::MAX, Duration::MAX]);
    let huge_base = ItemExponentialFailure::new(Duration::MAX, s(7));
    assert_eq!(delays(&huge_base, &"a", 2), [s(7), s(7)]);
}

#[test]
fn item_fast_slow_rate_limiter() {
    let limiter = ItemFastSlow::new(ms(5), s(10), 3);
    assert_eq!(delays(&limiter, &"one", 5), [ms(5), ms(5), ms(5), s(10), s(10)]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&limiter, &"two", 2), [ms(5), ms(5)]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&limiter, &"one", 1), [ms(5)]);
    let always_slow = ItemFastSlow::new(ms(5), s(10), 0);
    assert_eq!(delays(&always_slow, &"one", 1), [s(10)]);
}

#[test]
fn max_of_rate_limiter() {
    let limiter = MaxOf::new([
        Box::new(ItemFastSlow::new(ms(5), s(3), 3)) as Box<dyn RateLimiter<&str>>,
        Box::new(ItemExponentialFailure::new(ms(1), s(1))),
    ]);
    assert_eq!(delays(&limiter, &"one", 5), [ms(5), ms(5), ms(5), s(3), s(3)]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&limiter, &"two", 2), [ms(5), ms(5)]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&limiter, &"one", 1), [ms(5)]);
    assert_eq!(delays(&MaxOf::new([]), &"none", 1), [Duration::ZERO]);
}

#[test]
fn with_max_wait_rate_limiter() {
    /// 5 ms a hundred times, then 1000 s.
    #[derive(Default)]
    struct Steps(AtomicUsize);
    impl RateLimiter<usize> for Steps {
        fn when(&self, _item: &usize, _now: Instant) -> Duration {
            if self.0.fetch_add(1, Ordering::Relaxed) < 100 { ms(5) } else { s(1000) }
        }
        fn forget(&self, _item: &usize) {}
        fn num_requeues(&self, _item: &usize) -> usize {
            3
        }
    }
    let limiter = WithMaxWait::new(Steps::default(), s(500));
    let now = Instant::now();
    for item in 0..200 {
        assert_eq!(limiter.when(&item, now), if item < 100 { ms(5) } else { s(500) }, "item {item}");
    }
    assert_eq!(limiter.num_requeues(&0), 3);
}

#[test]
fn bucket_gives_a_burst_then_spreads() {
    let t0 = Instant::now();
    let limiter = default_controller_rate_limiter::<usize>();
    for item in 0..100 {
        assert_eq!(limiter.when(&item, t0), ms(5), "item {item}");
    }
    // The bucket owes tokens now: 100 ms each.
    assert_eq!(limiter.when(&100, t0), ms(100));
    assert_eq!(limiter.when(&101, t0), ms(200));
    // Ten seconds later the debt of two is paid and 98 are there.
    assert_eq!(limiter.when(&102, t0 + s(10)), ms(5));
    // However long nobody asks, no more than the burst is saved up.
    for item in 1000..1100 {
        assert_eq!(limiter.when(&item, t0 + s(10_000)), ms(5), "item {item}");
    }
    assert_eq!(limiter.when(&1100, t0 + s(10_000)), ms(100));
}

#[test]
fn bucket_edges() {
    let t0 = Instant::now();
    let when = |bucket: &Bucket, now| RateLimiter::<()>::when(bucket, &(), now);
    let empty = Bucket::new(10.0, 0);
    assert_eq!(when(&empty, t0), NEVER);
    assert_eq!(when(&empty, t0 + s(3600)), NEVER);
    for no_rate in [0.0, -1.0, f64::NAN] {
        let burst_only = Bucket::new(no_rate, 1);
        assert_eq!(when(&burst_only, t0), Duration::ZERO);
        assert_eq!(when(&burst_only, t0 + s(3600)), NEVER);
    }
    let unlimited = Bucket::new(f64::INFINITY, 0);
    assert_eq!(when(&unlimited, t0), Duration::ZERO);
    // A clock that goes backwards earns nothing and breaks nothing.
    let bucket = Bucket::new(1.0, 1);
    assert_eq!(when(&bucket, t0 + s(10)), Duration::ZERO);
    assert_eq!(when(&bucket, t0), s(1));
}

#[test]
fn default_controller_limiter_backs_off_to_its_cap() {
    let limiter = default_controller_rate_limiter();
    let mut now = Instant::now();
    let mut seen = Vec::new();
    for _ in 0..20 {
        seen.push(limiter.when(&"a", now).as_millis());
        now += s(60);
    }
    let expected: Vec<u128> = (0..18).map(|n| 5 << n).chain([1_000_000, 1_000_000]).collect();
    assert_eq!(seen, expected);
}
