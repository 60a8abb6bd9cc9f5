//! The order of a merged list: the patch's items in the patch's order, the others between them as they stood.

use serde_json::Value;

use crate::Status;

/// Puts `merged` into order. `order` is the wanted order of the patch's items if the patch tells it; otherwise
/// they stand as in the patch. `same` tells whether two items are the same one.
pub(super) fn arrange(
    merged: Vec<Value>,
    old: &[Value],
    patch: &[Value],
    order: Option<&[Value]>,
    same: impl Fn(&Value, &Value) -> bool,
) -> Result<Vec<Value>, Status> {
    let position = |list: &[Value], item: &Value| list.iter().position(|other| same(other, item));
    if let Some(order) = order {
        let positions: Vec<_> = patch.iter().map(|item| position(order, item)).collect();
        if positions.iter().any(Option::is_none) || !positions.is_sorted() {
            let list = |items: &[Value]| Value::from(items.to_vec()).to_string();
            let problem = format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                list(patch),
                list(order)
            );
            return Err(Status::new(500, problem).with_reason(""));
        }
    }
    let wanted = order.unwrap_or(patch);
    let (mut patched, untouched): (Vec<_>, Vec<_>) =
        merged.into_iter().partition(|item| position(wanted, item).is_some());
    patched.sort_by_key(|item| position(wanted, item));

    let mut arranged = Vec::with_capacity(patched.len() + untouched.len());
    let (mut patched, mut untouched) = (patched.into_iter().peekable(), untouched.into_iter().peekable());
    while let Some(next) = untouched.peek() {
        // An item that was not patched stays before all that stood behind it.
        let before = patched.peek().is_none_or(|patched| {
            matches!((position(old, next), position(old, patched)), (Some(left), Some(right)) if left < right)
        });
        arranged.extend(if before { untouched.next() } else { patched.next() });
    }
    arranged.extend(patched);
    Ok(arranged)
}
