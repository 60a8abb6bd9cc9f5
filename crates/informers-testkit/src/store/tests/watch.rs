use super::*;

fn from(version: u64) -> WatchOptions {
    WatchOptions { version: Some(version), bookmarks: true, ..WatchOptions::default() }
}

#[test]
fn a_watch_tells_what_happens_after_its_version() {
    let mut harness = Harness::new();
    let a = harness.config_map("a", "x").revision;
    let b = harness.config_map("b", "x").revision;
    let mut watch = harness.watch(&from(a));
    assert_eq!(harness.frames(&mut watch), [format!("ADDED b@{b}")]);
    let changed = harness.patch("configmaps", "a", json!({"data": {"k": "v"}})).unwrap().revision;
    // A change of nothing is none.
    harness.patch("configmaps", "a", json!({"data": {"k": "v"}})).unwrap();
    harness.delete("configmaps", "b").unwrap();
    let expected = [format!("MODIFIED a@{changed}"), format!("DELETED b@{}", changed + 1)];
    assert_eq!(harness.frames(&mut watch), expected);
    assert_eq!(harness.frames(&mut watch), Vec::<String>::new());
}

#[test]
fn objects_move_in_and_out_of_a_selection() {
    let mut harness = Harness::new();
    let start = harness.store.revision();
    let options = WatchOptions { selection: harness.selection("app=x", ""), ..from(start) };
    let mut watch = harness.watch(&options);
    let label = |app: &str| json!({"metadata": {"labels": {"app": app}}});
    let at = harness.config_map("a", "y").revision;
    harness.patch("configmaps", "a", label("x")).unwrap();
    harness.patch("configmaps", "a", json!({"data": {"k": "v"}})).unwrap();
    harness.patch("configmaps", "a", label("y")).unwrap();
    harness.patch("configmaps", "a", json!({"data": {"k": "w"}})).unwrap();
    harness.delete("configmaps", "a").unwrap();
    let expected =
        [format!("ADDED a@{}", at + 1), format!("MODIFIED a@{}", at + 2), format!("DELETED a@{}", at + 3)];
    assert_eq!(harness.frames(&mut watch), expected);

    // What left is told as it was when it was still selected.
    let mut watch = harness.watch(&WatchOptions { version: Some(at + 2), ..options });
    let batch = harness.store.poll_watch(&mut watch, 10);
    let Frame::Deleted(object) = &batch.frames[0] else { panic!("{batch:?}") };
    assert_eq!(
        (object.label("app"), object.text("resourceVersion")),
        (Some("x"), (at + 3).to_string().as_str())
    );
}

#[test]
fn a_streaming_list_ends_with_its_bookmark() {
    let mut harness = Harness::new();
    let a = harness.config_map("a", "x").revision;
    let b = harness.config_map("b", "x").revision;
    let options =
        WatchOptions { bookmarks: true, send_initial_events: Some(true), ..WatchOptions::default() };
    let mut watch = harness.watch(&options);
    // What happens meanwhile comes after.
    let c = harness.config_map("c", "x").revision;
    let expected = [
        format!("ADDED a@{a}"),
        format!("ADDED b@{b}"),
        format!("BOOKMARK @{b} end"),
        format!("ADDED c@{c}"),
    ];
    assert_eq!(harness.frames(&mut watch), expected);

    let future = WatchOptions { version: Some(c + 9), ..options };
    let mut watch = harness.watch(&future);
    let error = format!("ERROR 504 Timeout: Too large resource version: {}, current: {c}", c + 9);
    assert_eq!(harness.frames(&mut watch), [error, "END".to_owned()]);
}

#[test]
fn a_watch_without_a_version_begins_with_the_state() {
    let mut harness = Harness::new();
    let a = harness.config_map("a", "x").revision;
    for version in [None, Some(0)] {
        let options = WatchOptions { version, ..WatchOptions::default() };
        assert_eq!(harness.frames(&mut harness.watch(&options)), [format!("ADDED a@{a}")]);
        // kube-apiserver marks the end here too, if bookmarks are wanted.
        let options = WatchOptions { bookmarks: true, ..options };
        let expected = [format!("ADDED a@{a}"), format!("BOOKMARK @{a} end")];
        assert_eq!(harness.frames(&mut harness.watch(&options)), expected);
    }
    // The state can be declined.
    let options = WatchOptions { send_initial_events: Some(false), ..WatchOptions::default() };
    assert!(harness.frames(&mut harness.watch(&options)).is_empty());
}

#[test]
fn a_version_from_the_future_is_waited_for() {
    let mut harness = Harness::new();
    let next = harness.store.revision() + 1;
    let mut watch = harness.watch(&from(next));
    harness.config_map("a", "x");
    let b = harness.config_map("b", "x").revision;
    assert_eq!(harness.frames(&mut watch), [format!("ADDED b@{b}")]);
}

#[test]
fn compaction_ends_new_watches_and_spares_open_ones() {
    let mut harness = Harness::new();
    let a = harness.config_map("a", "x").revision;
    let mut open = harness.watch(&from(a));
    let b = harness.config_map("b", "x").revision;
    harness.store.compact();
    let error = format!("ERROR 410 too old resource version: {a} ({b})");
    assert_eq!(harness.frames(&mut harness.watch(&from(a))), [error, "END".to_owned()]);
    assert_eq!(harness.frames(&mut open), [format!("ADDED b@{b}")]);
    assert!(harness.frames(&mut harness.watch(&from(b))).is_empty());
}

#[test]
fn a_reader_behind_the_window_is_told_so() {
    let mut harness = Harness::with_history(2);
    let start = harness.store.revision();
    let mut slow = harness.watch(&from(start));
    let mut quick = harness.watch(&from(start));
    for name in ["a", "b", "c"] {
        harness.config_map(name, "x");
        assert_eq!(harness.frames(&mut quick).len(), 1);
    }
    let error = format!("ERROR 410 too old resource version: {start} ({})", start + 1);
    assert_eq!(harness.frames(&mut slow), [error, "END".to_owned()]);
    // Events of other resources push nobody out.
    let mut watch = harness.watch(&from(start + 3));
    for name in ["a", "b", "c"] {
        harness.create("secrets", json!({"metadata": {"name": name}})).unwrap();
    }
    assert!(harness.frames(&mut watch).is_empty());
}

#[test]
fn bookmarks_tell_how_far_the_watch_is() {
    let mut harness = Harness::new();
    let start = harness.store.revision();
    let mut watch = harness.watch(&from(start));
    harness.create("secrets", json!({"metadata": {"name": "elsewhere"}})).unwrap();
    assert!(harness.frames(&mut watch).is_empty());
    assert_eq!(text(&watch.bookmark().unwrap()), format!("BOOKMARK @{}", start + 1));
    let silent = harness.watch(&WatchOptions { bookmarks: false, ..from(start) });
    assert!(silent.bookmark().is_none());
}
