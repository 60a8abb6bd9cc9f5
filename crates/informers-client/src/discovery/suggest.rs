//! What may have been meant by a name that there is not.

/// The names that are most like what was asked for.
pub(super) fn suggestions(wanted: &str, known: Vec<String>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let plural = wanted.split('.').next().unwrap_or_default();
    let mut scored: Vec<(usize, String)> = known
        .into_iter()
        .filter_map(|name| {
            let own = name.split('.').next().unwrap_or_default();
            let distance = distance(plural, own);
            let allowed = (plural.chars().count() / 3).max(1);
            (distance <= allowed).then_some((distance * 100 + self::distance(&wanted, &name), name))
        })
        .collect();
    scored.sort();
    scored.dedup();
    // Where the name itself is right, only the group was wrong.
    if scored.first().is_some_and(|(score, _)| *score < 100) {
        scored.retain(|(score, _)| *score < 100);
    }
    scored.into_iter().map(|(_, name)| name).take(3).collect()
}

/// How many letters must be changed, added or removed to come from one text to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_names_come_first() {
        let known = ["pods", "nodes", "podtemplates", "widgets.example.com", "widgets.other.io"];
        let known = || known.map(str::to_owned).to_vec();
        assert_eq!(suggestions("pod", known()), ["pods"]);
        assert_eq!(suggestions("wigets.example.com", known()), ["widgets.example.com", "widgets.other.io"]);
        assert_eq!(suggestions("widgets", known()), ["widgets.other.io", "widgets.example.com"]);
        assert!(suggestions("gizmos", known()).is_empty());
    }

    #[test]
    fn distances_count_single_letters() {
        for (a, b, expected) in [("", "", 0), ("a", "", 1), ("pods", "pod", 1), ("kitten", "sitting", 3)] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
