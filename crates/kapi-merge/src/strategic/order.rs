//! The order of merged lists: as the patch has it, with what only the server has kept in place.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use kapi_schema::field::go_quote;
use kapi_schema::go;
use serde_json::{Map, Value};

use super::list::{self, places};
use super::map::without_directives;
use super::{Meta, PATCH, SET_ORDER, bad_format, internal, no_merge_key, not_a_list, not_a_map};
use crate::error::PatchError;

/// What decides the order of a merged list.
pub(super) struct Order<'a> {
    /// The items of the patch, in its order.
    pub(super) patch: &'a [Value],
    /// The items before the patch.
    pub(super) server: &'a [Value],
    /// The merge key, or nothing for scalars.
    pub(super) key: &'a str,
}

/// Does what all `$setElementOrder/<list>` of a patch say, merging those lists on the way.
pub(super) fn apply_set_orders(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    meta: Meta<'_>,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let order = patch.remove(&directive).unwrap_or_default();
        let Value::Array(order) = order else { return Err(not_a_list(&order)) };
        let Some(name) = directive.strip_prefix(SET_ORDER).and_then(|rest| rest.strip_prefix('/')) else {
            return bad_format("setElementOrder list");
        };
        let as_list = |value: Option<&Value>| match value {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(other) => Err(not_a_list(other)),
        };
        let before = as_list(original.get(name))?;
        let change = as_list(patch.get(name))?;
        let field = meta.field(name);
        if field.schema.is_none() {
            return internal(format!("unable to find api field in struct for the json field {}", go_quote(name)));
        }
        let key = field.merge_key();
        check_order(change.as_deref().unwrap_or_default(), &order, key)?;
        let merged = match (&before, &change) {
            (Some(before), None) => before.clone(),
            (None, Some(change)) => match without_directives(Value::Array(change.clone())) {
                Some(Value::Array(items)) => items,
                _ => continue,
            },
            (Some(before), Some(change)) if field.has_strategy("merge") => {
                list::merge(before.clone(), change.clone(), field)?
            }
            (Some(_), Some(change)) => change.clone(),
            (None, None) => continue,
        };
        let (server, change) = (before.as_deref().unwrap_or_default(), change.as_deref().unwrap_or_default());
        list::check_same_types(server, change)?;
        let server = server_order(server, change, key)?;
        let arranged = arrange(merged, &Order { patch: &order, server: &server, key })?;
        original.insert(name.to_owned(), Value::Array(arranged));
        patch.remove(name);
    }
    Ok(())
}

/// The order of the server's items that a list is arranged by after `change` deleted from it and added to it.
///
/// The real server deletes and adds in place, in the very memory it then takes the old order from: items move up, what
/// was last stays behind at the end, and added items take the room of deleted ones.
fn server_order<'a>(server: &'a [Value], change: &'a [Value], key: &str) -> Result<Cow<'a, [Value]>, PatchError> {
    let directive = |item: &Value| item.get(PATCH).and_then(Value::as_str).map(str::to_owned);
    if key.is_empty() || !change.iter().any(|item| directive(item).as_deref() == Some("delete")) {
        return Ok(Cow::Borrowed(server));
    }
    let mut alive = vec![true; server.len()];
    let mut last_alive = server.len();
    let mut left_behind = VecDeque::new();
    let mut gone: HashSet<String> = HashSet::new();
    let mut of_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, item) in server.iter().enumerate() {
        of_name.entry(name_of(item, key)?).or_default().push(index);
    }
    for item in change.iter().filter(|item| directive(item).as_deref() == Some("delete")) {
        let name = name_of(item, key)?;
        for index in of_name.get(&name).filter(|_| gone.insert(name.clone())).into_iter().flatten() {
            while last_alive > 0 && !alive[last_alive - 1] {
                last_alive -= 1;
            }
            left_behind.push_front(server[last_alive - 1].clone());
            alive[*index] = false;
        }
    }
    let kept = server.iter().zip(&alive).filter(|(_, alive)| **alive).map(|(item, _)| item.clone());
    let mut order: Vec<Value> = kept.collect();
    if !change.iter().any(|item| directive(item).as_deref() == Some("replace")) {
        let mut known: HashSet<String> = order.iter().map(|item| name_of(item, key)).collect::<Result<_, _>>()?;
        for item in change.iter().filter(|item| directive(item).is_none()) {
            if known.insert(name_of(item, key)?) && left_behind.pop_front().is_some() {
                order.push(item.clone());
            }
        }
    }
    order.extend(left_behind);
    Ok(Cow::Owned(order))
}

/// The items of the patch must be in the order's list, in its order.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), PatchError> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let mut wanted = Vec::new();
    for item in patch {
        match item {
            Value::Object(fields) if fields.contains_key(PATCH) => {}
            Value::Object(_) => wanted.push(item),
            scalar if key.is_empty() => wanted.push(scalar),
            other => return Err(not_a_map(other)),
        }
    }
    let mut wanted = wanted.into_iter().peekable();
    for place in order {
        let Some(item) = wanted.peek() else { return Ok(()) };
        if same_item(item, place, key)? {
            wanted.next();
        }
    }
    if wanted.peek().is_none() {
        return Ok(());
    }
    let text = |items: &[Value]| go::plain(&Value::Array(items.to_vec()));
    internal(format!("The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n", text(patch), text(order)))
}

fn same_item(a: &Value, b: &Value, key: &str) -> Result<bool, PatchError> {
    if key.is_empty() {
        return Ok(a == b);
    }
    let value = |item: &Value| match item {
        Value::Object(map) => map.get(key).cloned().ok_or_else(|| no_merge_key(map, key)),
        other => Err(not_a_map(other)),
    };
    Ok(value(a)? == value(b)?)
}

/// Orders merged items: those of the patch as the patch has them, the others as the server had them, each server
/// item before the first patch item that followed it on the server.
pub(super) fn arrange(merged: Vec<Value>, order: &Order<'_>) -> Result<Vec<Value>, PatchError> {
    let mut ours = Vec::new();
    let mut servers = Vec::new();
    let (patch_places, server_places) = (places(order.patch, order.key)?, places(order.server, order.key)?);
    for item in merged {
        let name = name_of(&item, order.key)?;
        let before = server_places.get(&name).copied();
        match patch_places.get(&name).copied() {
            Some(place) => ours.push((place, before, item)),
            None => servers.push((before, item)),
        }
    }
    ours.sort_by_key(|(place, _, _)| *place);
    servers.sort_by_key(|(before, _)| *before);

    let mut out = Vec::with_capacity(ours.len() + servers.len());
    let mut servers = servers.into_iter().peekable();
    for (_, before, item) in ours {
        while let Some((_, theirs)) =
            servers.next_if(|(theirs, _)| matches!((theirs, before), (Some(theirs), Some(ours)) if *theirs < ours))
        {
            out.push(theirs);
        }
        out.push(item);
    }
    out.extend(servers.map(|(_, item)| item));
    Ok(out)
}

/// What tells an item from others, as [`places`] has it.
fn name_of(item: &Value, key: &str) -> Result<String, PatchError> {
    match item {
        item if key.is_empty() => Ok(item.to_string()),
        Value::Object(map) => Ok(map.get(key).ok_or_else(|| no_merge_key(map, key))?.to_string()),
        other => Err(not_a_map(other)),
    }
}
