//! The correlator, with client-go's rules and numbers.

use super::*;
use crate::recorder::EventType;

fn about(name: &str) -> ObjectReference {
    ObjectReference::new("v1", "Pod", "shop", name, format!("u-{name}")).with_resource_version("1")
}

struct World {
    correlator: Correlator,
    start: Instant,
    seconds: u64,
}

impl World {
    fn new(options: &Options) -> Self {
        Self { correlator: Correlator::new(options), start: Instant::now(), seconds: 0 }
    }

    fn occurs(&mut self, occurrence: Occurrence) -> Option<Write> {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + self.seconds);
        let now = self.start + Duration::from_secs(self.seconds);
        match self.correlator.observe(Observation { occurrence, at, random: 7 }, now) {
            Verdict::Spam => None,
            Verdict::Write(write) => Some(*write),
        }
    }

    fn warns(&mut self, name: &str, reason: &str, message: &str) -> Option<Write> {
        self.occurs(Occurrence::new(about(name), EventType::Warning, reason, message))
    }
}

fn plenty() -> Options {
    Options { burst: 100_000, ..Options::default() }
}

#[test]
fn the_numbers_are_client_gos() {
    let options = Options::default();
    assert_eq!((options.similar, options.similar_within), (10, Duration::from_secs(600)));
    assert_eq!((options.burst, options.refill), (25, Duration::from_secs(300)));
    assert_eq!((options.tries, options.pause), (12, Duration::from_secs(10)));
    assert_eq!((options.queue, options.remembered), (1000, 4096));
}

#[test]
fn what_happens_again_is_counted_in_the_same_event() {
    let mut world = World::new(&plenty());
    let first = world.warns("a", "Failed", "no").unwrap();
    assert_eq!((first.count, first.name.as_str()), (1, "a.38d7ea4c68000"));
    world.seconds = 5;
    let newer = Occurrence::new(about("a").with_resource_version("2"), EventType::Warning, "Failed", "no");
    let second = world.occurs(newer).unwrap();
    assert_eq!((second.count, &second.name, second.first), (2, &first.name, first.first));
    assert_eq!(second.last, first.first + Duration::from_secs(5));
    for other in [
        world.warns("b", "Failed", "no"),
        world.warns("a", "Killed", "no"),
        world.warns("a", "Failed", "never"),
        world.occurs(Occurrence::new(about("a"), EventType::Normal, "Failed", "no")),
        world.occurs(Occurrence::new(about("a").with_field_path("spec"), EventType::Warning, "Failed", "no")),
    ] {
        assert_eq!(other.unwrap().count, 1);
    }
}

#[test]
fn the_tenth_message_without_a_silence_of_ten_minutes_is_combined() {
    let mut world = World::new(&plenty());
    for number in 1..10 {
        let write = world.warns("a", "Failed", &format!("no {number}")).unwrap();
        assert_eq!((write.count, write.occurrence.message), (1, format!("no {number}")));
        world.seconds += 600;
    }
    let annotated =
        Occurrence::new(about("a"), EventType::Warning, "Failed", "no 10").with_annotation("k", "v");
    let combined = world.occurs(annotated).unwrap();
    assert_eq!(combined.occurrence.message, "(combined from similar events): no 10");
    assert!(combined.count == 1 && combined.occurrence.annotations.is_empty());
    let next = world.warns("a", "Failed", "no 11").unwrap();
    assert_eq!((next.count, &next.name), (2, &combined.name));
    assert_eq!(next.occurrence.message, "(combined from similar events): no 11");
    assert_eq!(world.warns("a", "Killed", "no 12").unwrap().occurrence.message, "no 12");
    world.seconds += 601;
    assert_eq!(world.warns("a", "Failed", "no 13").unwrap().occurrence.message, "no 13", "they begin anew");
}

#[test]
fn the_same_message_is_never_combined() {
    let mut world = World::new(&plenty());
    for count in 1..100 {
        let write = world.warns("a", "Failed", "no").unwrap();
        assert_eq!((write.count, write.occurrence.message.as_str()), (count, "no"));
    }
}

#[test]
fn after_a_burst_an_object_has_one_event_in_five_minutes() {
    let mut world = World::new(&Options::default());
    for count in 1..=25 {
        assert_eq!(world.warns("a", "Failed", "no").unwrap().count, count);
    }
    assert!(world.warns("a", "Failed", "no").is_none());
    assert!(world.warns("a", "Other", "no").is_none(), "whatever the reason");
    assert!(world.warns("b", "Failed", "no").is_some());
    assert!(world.occurs(Occurrence::new(about("a"), EventType::Normal, "Fine", "yes")).is_some());
    world.seconds = 299;
    assert!(world.warns("a", "Failed", "no").is_none());
    world.seconds = 300;
    assert_eq!(world.warns("a", "Failed", "no").unwrap().count, 28, "those that were not written count");
    assert!(world.warns("a", "Failed", "no").is_none());
    world.seconds = 300 * 1000;
    assert_eq!((0..40).filter(|_| world.warns("a", "Failed", "no").is_some()).count(), 25);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut world = World::new(&Options { remembered: 3, ..plenty() });
    for name in ["a", "b", "c", "d"] {
        world.warns(name, "Failed", "no");
    }
    assert_eq!(world.warns("d", "Failed", "no").unwrap().count, 2);
    assert_eq!(world.warns("a", "Failed", "no").unwrap().count, 1, "it was forgotten");
    assert_eq!(world.correlator.logs.len(), 3);
}

#[test]
fn an_event_has_a_name_whatever_its_object_has() {
    for name in ["A", "a_b", "-a", "a..b", "", &"a".repeat(253), "system:node:x"] {
        let name = World::new(&plenty()).warns(name, "Failed", "no").unwrap().name;
        assert_eq!(name, "event-0000000000000007.38d7ea4c68000");
    }
    assert_eq!(World::new(&plenty()).warns("a.b-c", "Failed", "no").unwrap().name, "a.b-c.38d7ea4c68000");
}

#[test]
fn names_differ_where_the_clock_stands_still_or_goes_back() {
    let mut world = World::new(&plenty());
    let mut names: Vec<_> = ["one", "two"].map(|no| world.warns("a", "Failed", no).unwrap().name).into();
    world.seconds = 1;
    names.push(world.warns("a", "Failed", "three").unwrap().name);
    world.seconds = 0;
    names.push(world.warns("a", "Failed", "four").unwrap().name);
    assert_eq!(names, ["a.38d7ea4c68000", "a.38d7ea4c68001", "a.38d7ee0614a00", "a.38d7ee0614a01"]);
}

#[test]
fn what_is_remembered_is_bounded_in_bytes_too() {
    let mut world = World::new(&plenty());
    let long = "long".repeat(1 << 18);
    let about = ObjectReference::new(&*long, &*long, &*long, &*long, &*long).with_field_path(&*long);
    for number in 0..20 {
        let message = format!("long {number}");
        let event =
            world.occurs(Occurrence::new(about.clone(), EventType::Warning, &*long, &*message)).unwrap();
        assert!(event.occurrence.message.ends_with(&message));
    }
    // Ten Events, the last of which is for all that are alike.
    assert_eq!(world.correlator.logs.len(), 10);
    assert!(!format!("{:?}", world.correlator).contains("long"), "no text of the caller's is kept");
}

#[test]
fn pauses_end_after_the_last_try() {
    let options = Options::default();
    assert_eq!(pause(1, &options, 0.25), Some(Duration::from_millis(2500)));
    assert_eq!(pause(1, &options, f64::INFINITY), Some(Duration::from_secs(10)));
    assert_eq!(pause(2, &options, 0.25), Some(Duration::from_secs(10)));
    assert_eq!(pause(11, &options, 0.25), Some(Duration::from_secs(10)));
    assert_eq!(pause(12, &options, 0.25), None);
    let never = Options { pause: Duration::MAX, ..Options::default() };
    assert_eq!(pause(1, &never, 1.0), Some(Duration::MAX));
    assert_eq!(pause(1, &Options { tries: 0, ..never }, 1.0), None);
}

#[test]
fn a_refill_that_never_comes_leaves_the_burst_alone() {
    let mut world = World::new(&Options { refill: Duration::MAX, burst: 3, ..Options::default() });
    for day in 0..10 {
        world.seconds = day * 86_400;
        assert_eq!(world.warns("a", "Failed", "no").is_some(), day < 3, "day {day}");
    }
}

/// Four hundred occurrences and what client-go 0.37.2 made of them (`EventCorrelator` with its defaults, its fake
/// clock, and seeded random input). A line is: seconds that pass, object, type, reason, message, an arrow, then `spam`
/// or count, first second and message.
#[test]
fn client_gos_correlator_decides_the_same() {
    let mut world = World::new(&Options::default());
    for line in include_str!("client_go.txt").lines() {
        let [seconds, object, event_type, reason, message, _, expected @ ..] =
            &*line.split(' ').collect::<Vec<_>>()
        else {
            panic!("{line}")
        };
        world.seconds += seconds.parse::<u64>().unwrap();
        let event_type = if *event_type == "Warning" { EventType::Warning } else { EventType::Normal };
        let written = world.occurs(Occurrence::new(about(object), event_type, *reason, *message));
        let decided = written.map_or("spam".to_owned(), |write| {
            let first = write.first.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() - 1_000_000;
            format!("{} {first} {}", write.count, write.occurrence.message.replace(' ', "_"))
        });
        assert_eq!(decided, expected.join(" "), "{line}");
    }
}
