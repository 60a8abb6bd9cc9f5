use std::collections::BTreeMap;

use super::*;

/// Random writes; every list as of an earlier revision must show what was there then, and every watch must
/// end in the present state.
#[test]
fn the_past_is_told_as_it_was() {
    for seed in 0..50 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut harness = Harness::new();
        let mut past: Vec<(u64, BTreeMap<String, u64>)> = Vec::new();
        let mut watches = Vec::new();
        for _ in 0..60 {
            let name = format!("o{}", random.u32(..6));
            match (random.u32(..4), harness.get("configmaps", &name).is_some()) {
                (0, true) => drop(harness.delete("configmaps", &name).unwrap()),
                (1, true) => {
                    harness
                        .patch("configmaps", &name, json!({"data": {"k": random.u32(..).to_string()}}))
                        .unwrap();
                }
                (2 | 3, false) => drop(harness.config_map(&name, "x")),
                _ => {}
            }
            let state = state(&harness.store.objects(&harness.def("configmaps")));
            let revision = harness.store.revision();
            past.push((revision, state.clone()));
            if random.u32(..10) == 0 {
                let options = WatchOptions { version: Some(revision), ..WatchOptions::default() };
                watches.push((harness.watch(&options), state));
            }
        }
        let limit = random.usize(1..4);
        for (revision, state_then) in &past {
            let mut options = ListOptions {
                version: Some(*revision),
                version_match: Some(super::super::options::Match::Exact),
                limit,
                ..ListOptions::default()
            };
            let mut found = Vec::new();
            loop {
                let page = harness.list(&options).unwrap();
                assert!(page.items.len() <= limit, "seed {seed}");
                found.extend(page.items);
                let Some(token) = page.continue_token else { break };
                options = ListOptions { limit, continue_token: Some(token), ..ListOptions::default() };
            }
            assert_eq!(state(&found), *state_then, "seed {seed}, revision {revision}");
        }
        let (_, present) = past.last().unwrap();
        for (mut watch, mut state) in watches {
            loop {
                let batch = harness.store.poll_watch(&mut watch, 3);
                for frame in &batch.frames {
                    match frame {
                        Frame::Added(object) => {
                            let before = state.insert(object.name().to_owned(), object.revision);
                            assert_eq!(before, None, "seed {seed}");
                        }
                        Frame::Modified(object) => {
                            let before = state.insert(object.name().to_owned(), object.revision);
                            assert!(before.is_some_and(|before| before < object.revision), "seed {seed}");
                        }
                        Frame::Deleted(object) => {
                            assert!(state.remove(object.name()).is_some(), "seed {seed}");
                        }
                        other => panic!("seed {seed}: {other:?}"),
                    }
                }
                if batch.frames.is_empty() {
                    break;
                }
            }
            assert_eq!(state, *present, "seed {seed}");
        }
    }
}

fn state(objects: &[Arc<Stored>]) -> BTreeMap<String, u64> {
    objects.iter().map(|object| (object.name().to_owned(), object.revision)).collect()
}
