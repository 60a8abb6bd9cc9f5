//! What the machine decides, as scripts; see `script.rs` for their words.

use super::Rules;
use super::script::check;
use crate::Parity;

fn streaming() -> Rules {
    Rules::default()
}

fn paged() -> Rules {
    Rules { streaming_list: false, ..Rules::default() }
}

fn like_client_go() -> Rules {
    Rules { parity: Parity::client_go_0_37(), ..Rules::default() }
}

#[test]
fn a_healthy_life() {
    check(
        streaming(),
        "> stream
         opened
         > streaming
         added 3
         modified 4
         mark 5
         > watching, at 5
         modified 6
         > watching, at 6
         bookmark 9
         > watching, at 9
         after 300s
         end
         > open 9
         opened
         > watching, at 9",
    );
}

#[test]
fn a_refused_streaming_list_is_remembered() {
    check(
        streaming(),
        "> stream
         error Invalid
         > list 0 limit=500
         page 10
         > open 10
         opened
         > watching, at 10
         error Expired
         > wait 800ms, then list
         deadline
         > list 10 limit=0",
    );
}

#[test]
fn under_parity_it_is_asked_for_again() {
    check(
        like_client_go(),
        "> stream
         error Invalid
         > list 0 limit=500
         page 10
         > open 10
         opened
         > watching, at 10
         error Expired
         > wait 800ms, then list
         deadline
         > stream 10",
    );
}

#[test]
fn a_streaming_list_that_the_sink_refuses() {
    let refused = |rest: &str| format!("> stream\nopened\n> streaming\nadded 1\nrefused\n{rest}");
    check(streaming(), &refused("> tell Other\n> wait 800ms, then list"));
    check(like_client_go(), &refused("> list 0 limit=500"));
}

#[test]
#[should_panic(expected = "assertion")]
fn a_script_that_is_wrong_fails() {
    check(streaming(), "> stream\nerror Invalid\n> stream");
}

#[test]
fn patience_with_a_streaming_list_ends() {
    check(
        streaming(),
        "> stream
         opened
         > streaming
         added 1
         bookmark 2
         deadline
         > list 0 limit=500",
    );
}

#[test]
fn three_streams_without_a_mark_are_enough() {
    check(
        streaming(),
        "> stream
         opened
         > streaming
         added 1
         error ConnectionLost
         > stream
         opened
         > streaming
         end
         > stream
         opened
         > streaming
         end
         > list 0 limit=500",
    );
}

#[test]
fn an_expired_streaming_list_is_asked_for_without_a_version() {
    check(
        streaming(),
        "> stream
         opened
         > streaming
         mark 5
         > watching, at 5
         error Gone
         > wait 800ms, then list
         deadline
         > stream 5
         error TooLargeResourceVersion
         > stream
         error Expired
         > tell Expired
         > wait 1.6s, then list",
    );
}

#[test]
fn a_streaming_list_of_the_past_is_not_taken() {
    check(
        streaming(),
        "> stream
         opened
         > streaming
         mark 300
         > watching, at 300
         error Expired
         > wait 800ms, then list
         deadline
         > stream 300
         opened
         > streaming
         mark 250
         > stream
         opened
         > streaming
         mark 310
         > watching, at 310",
    );
}

#[test]
fn a_list_that_fails_on_a_later_page() {
    check(
        paged(),
        "> list 0 limit=500
         page 10 more
         > list token limit=500
         error TooManyRequests
         > list token limit=500
         error Gone
         > list  limit=500
         error Gone
         > tell Gone
         > wait 1.6s, then list",
    );
}

/// Pages of a list without a version say nothing, except to client-go if it asked for any version first.
#[test]
fn what_is_learnt_from_pages_of_a_second_attempt() {
    let script = |later_list: &str| {
        format!(
            "> list 0 limit=500
             error Expired
             > list  limit=500
             page 5 more
             > list token limit=500
             page 5
             > open 5
             opened
             > watching, at 5
             error Expired
             > wait 800ms, then list
             deadline
             > list 5{later_list}"
        )
    };
    check(paged(), &script(" limit=0"));
    let learning = Parity { learn_from_second_attempt: true, ..Parity::default() };
    check(Rules { parity: learning, ..paged() }, &script(" limit=500 NotOlderThan"));
}

#[test]
fn failures_keep_the_version_unless_they_cast_doubt_on_it() {
    for kind in ["Unauthorized", "Timeout", "Unavailable", "ConnectionRefused", "ConnectionLost", "Internal"]
    {
        check(
            paged(),
            &format!(
                "> list 0 limit=500
                 page 10
                 > open 10
                 error {kind}
                 > tell {kind}
                 > wait 800ms, then watch
                 deadline
                 > open 10"
            ),
        );
    }
    for kind in ["Invalid", "Other"] {
        check(
            paged(),
            &format!(
                "> list 0 limit=500
                 page 10
                 > open 10
                 error {kind}
                 > tell {kind}
                 > wait 800ms, then list
                 deadline
                 > list 10 limit=0"
            ),
        );
    }
}

#[test]
fn under_parity_all_but_two_lead_to_a_list() {
    let rules = || Rules { streaming_list: false, ..like_client_go() };
    for kind in
        ["Unauthorized", "Forbidden", "NotFound", "Timeout", "Unavailable", "ConnectionLost", "Internal"]
    {
        check(
            rules(),
            &format!(
                "> list 0 limit=500
                 page 10
                 > open 10
                 error {kind}
                 > tell {kind}
                 > wait 800ms, then list"
            ),
        );
    }
    for kind in ["TooManyRequests", "ConnectionRefused"] {
        check(
            rules(),
            &format!(
                "> list 0 limit=500
                 page 10
                 > open 10
                 error {kind}
                 > wait 800ms, then watch"
            ),
        );
    }
}

#[test]
fn a_connection_that_breaks_after_it_worked_is_no_failure() {
    check(
        paged(),
        "> list 0 limit=500
         page 10
         > open 10
         opened
         > watching, at 10
         after 5s
         error ConnectionLost
         > open 10
         opened
         > watching, at 10
         error ConnectionLost
         > tell ConnectionLost
         > wait 800ms, then watch",
    );
}

#[test]
fn a_silent_watch_is_given_up() {
    check(
        paged(),
        "> list 0 limit=500
         page 10
         > open 10
         deadline
         > tell Timeout
         > wait 800ms, then watch
         deadline
         > open 10
         opened
         > watching, at 10
         deadline
         > open 10",
    );
}

#[test]
fn a_denial_is_told_once_until_it_ends() {
    check(
        paged(),
        "> list 0 limit=500
         error Forbidden
         > tell Forbidden
         > forbidden, then list
         deadline
         > list 0 limit=500
         error Forbidden
         > forbidden, then list
         deadline
         > list 0 limit=500
         page 10
         > open 10
         error Forbidden
         > tell Forbidden
         > forbidden, then watch
         deadline
         > open 10
         opened
         > watching, at 10
         modified 11
         > watching, at 11
         error Forbidden
         > tell Forbidden
         > forbidden, then watch",
    );
}

#[test]
fn a_resource_that_was_never_there_is_told_once() {
    check(
        streaming(),
        "> stream
         error NotFound
         > list 0 limit=500
         error NotFound
         > tell NotFound
         > wait 800ms, then list
         deadline
         > stream
         error NotFound
         > list 0 limit=500
         error NotFound
         > wait 1.6s, then list",
    );
}

#[test]
fn a_resource_is_gone_when_it_was_not_found_twice() {
    check(
        streaming(),
        "> stream
         opened
         > streaming
         mark 10
         > watching, at 10
         error NotFound
         > tell NotFound
         > wait 800ms, then list
         deadline
         > stream 10
         error NotFound
         > list 10 limit=0
         error NotFound
         > tell NotFound
         > empty, gone, then list
         deadline
         > list  limit=500
         error NotFound
         > gone, then list
         deadline
         > list  limit=500
         page 3
         > open 3",
    );
}

#[test]
fn versions_of_a_watch_from_nowhere_count_after_its_initial_state() {
    check(
        paged(),
        "> list 0 limit=500
         page 0
         > open 0
         opened
         > watching, at 0
         added 9
         added 4
         modified 12
         > watching, at 12
         unknown 99
         added 13
         > watching, at 13",
    );
}

#[test]
fn a_watch_of_nothing_but_unknown_events_is_no_proof_of_a_watch() {
    // A list in answer to a watch, say: one frame of no type. It is paced from the first one on, and in the end a
    // list is read, or what is held would grow old unnoticed.
    check(
        paged(),
        "> list 0 limit=500
         page 5
         > open 5
         opened
         > watching, at 5
         unknown 7
         > watching, at 5
         end
         > wait 800ms, then watch
         deadline
         > open 5
         opened
         > watching, at 5
         unknown 7
         end
         > wait 1.6s, then watch
         deadline
         > open 5
         opened
         > watching, at 5
         unknown 7
         end
         > wait 3.2s, then watch
         deadline
         > open 5
         opened
         > watching, at 5
         unknown 7
         end
         > wait 6.4s, then watch
         deadline
         > open 5
         opened
         > watching, at 5
         unknown 7
         end
         > wait 12.8s, then list",
    );
}

#[test]
fn settings_out_of_all_measure_do_no_harm() {
    use std::time::{Duration, Instant};

    use super::{Memory, Next};
    use crate::{Backoff, StreamingPatience};
    use informers_core::{Error, ErrorKind};

    let most = Duration::MAX;
    let patience = StreamingPatience { quiet: most, total: most, streams: u32::MAX };
    let rules = Rules { patience, min_watch_timeout: most, ..Rules::default() };
    let backoff = Backoff { init: most, cap: most, factor: f64::INFINITY, jitter: f64::MAX, reset: most };
    let (mut memory, now) = (Memory::new(rules, backoff, fastrand::Rng::with_seed(1)), Instant::now());
    let Next::Stream(streaming) = memory.start(now) else { panic!() };
    let refused = Error::new(ErrorKind::ConnectionRefused, "watch");
    let Next::Wait(waiting) = streaming.failed(&mut memory, refused, now) else { panic!() };
    assert!(waiting.until > now);
    let Next::Stream(mut streaming) = waiting.over(&mut memory, now) else { panic!() };
    streaming.opened();
    let watching = streaming.taken(&mut memory, 5.into(), now);
    assert!(watching.deadline(&memory) > Some(now));
}
