//! What property tests are fed with.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same cases on every run; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` ask for others. A failure prints its
/// smallest input.
pub(crate) fn seeded() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match config.rng_seed {
        RngSeed::Random => ProptestConfig { rng_seed: RngSeed::Fixed(20_260_504), ..config },
        RngSeed::Fixed(_) => config,
    }
}

pub(crate) fn any_json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::collection::vec(
            prop_oneof![
                any::<char>(),
                prop::sample::select(vec!['"', '\\', '{', '}', '[', ']', '\n', '😀', '\u{301}'])
            ],
            0..24
        )
        .prop_map(|chars| Value::from(chars.into_iter().collect::<String>())),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Cuts `body` at pseudo-random places, repeating `sizes`.
pub(crate) fn pieces<'a>(body: &'a [u8], sizes: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = body;
    sizes.iter().cycle().map_while(move |&size| {
        let (piece, next) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        rest = next;
        (!piece.is_empty()).then_some(piece)
    })
}
