//! A label selector as text.

use serde_json::Value;

/// A `LabelSelector`, or a map of labels, in the form that queries take: `a=b,c in (d,e),!f`, by label.
pub(crate) fn selector_text(selector: &Value) -> String {
    let labels = match selector.get("matchLabels") {
        None if selector.get("matchExpressions").is_none() => Some(selector),
        labels => labels,
    };
    let mut requirements: Vec<(&str, String)> = Vec::new();
    for (label, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        requirements.push((label, format!("{label}={}", value.as_str().unwrap_or_default())));
    }
    for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let label = expression["key"].as_str().unwrap_or_default();
        let mut values: Vec<_> =
            expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        requirements.push((
            label,
            match expression["operator"].as_str().unwrap_or_default() {
                "In" => format!("{label} in ({values})"),
                "NotIn" => format!("{label} notin ({values})"),
                "DoesNotExist" => format!("!{label}"),
                _ => label.to_owned(),
            },
        ));
    }
    requirements.sort_by_key(|(label, _)| *label);
    requirements.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_have_a_text() {
        for (selector, text) in [
            (json!({"b": "c", "a": "d"}), "a=d,b=c"),
            (json!({"matchLabels": {"b": "c"}}), "b=c"),
            (
                json!({"matchLabels": {"m": "n"}, "matchExpressions": [
                    {"key": "z", "operator": "Exists"},
                    {"key": "a", "operator": "In", "values": ["y", "x"]},
                    {"key": "n", "operator": "NotIn", "values": ["o"]},
                    {"key": "c", "operator": "DoesNotExist"},
                ]}),
                "a in (x,y),!c,m=n,n notin (o),z",
            ),
            (json!({}), ""),
        ] {
            assert_eq!(selector_text(&selector), text);
        }
    }
}
