//! A run of client-go's own reflector, as it was recorded, replayed under its rules.

use informers_core::ErrorKind;

use crate::Run;
use crate::server::*;

#[tokio::test(start_paused = true)]
async fn the_golden_trace_is_client_gos() {
    let run = Run::like_client_go([
        stream([added("a", 1)]),
        refuse(ErrorKind::ConnectionRefused),
        stream([added("a", 1), mark(5), modified("a", 6)]),
        watch([fails(ErrorKind::Expired)]),
        stream([fails(ErrorKind::Expired)]),
        stream([mark(40)]),
        stream([]),
        list(50, [("a", 50)]),
        refuse(ErrorKind::Invalid),
        stream([Frame::Hole]),
    ]);
    run.until(10).await;
    assert_eq!(
        run.server.asked(),
        [
            "stream ",
            "stream ",
            "stream ",
            "watch 6",
            "stream 6",
            "stream ",
            "stream 40",
            "list 40",
            "watch 50",
            "stream 50",
        ]
    );
    // Bases of the pauses; each is stretched by less than itself.
    let pauses = [0.0, 0.8, 0.0, 1.6, 0.0, 3.2, 0.0, 0.0, 6.4];
    for (gap, base) in run.server.gaps().into_iter().zip(pauses) {
        assert!(gap >= base && gap <= 2.0 * base, "{gap} for {base}: {:?}", run.server.requests());
    }
    assert_eq!(run.sink.log(), ["=5 [a@1]", "~a@6", "=40 []", "=50 [a@50]"]);
    let told: Vec<_> = run.told().iter().map(informers_core::Error::kind).collect();
    assert_eq!(told, [ErrorKind::Invalid], "the refused plain watch alone");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_merely_gone_is_repeated_without_version_and_limit() {
    let run = Run::with(
        [
            list(10, []),
            watch([fails(ErrorKind::Gone)]),
            refuse(ErrorKind::Gone),
            list(20, []),
            watch([Frame::Hole]),
        ],
        |builder| builder.streaming_list(false).parity(informers_reflector::Parity::client_go_0_37()),
    );
    run.until(5).await;
    assert_eq!(run.server.asked()[2..], ["list 10", "list ", "watch 20"]);
    run.stop().await;
}
