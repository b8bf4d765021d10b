//! List and set functions.

use std::cmp::Ordering;

use super::eval::Evaluator;
use super::ops;
use super::value::{Error, Evaluated, Val, compare, equal, fail};

/// Calls a list function; none if the name is not one's.
pub(super) fn call<'a>(run: &mut Evaluator<'a>, name: &str, values: &[Val<'a>]) -> Option<Evaluated<'a>> {
    let (first, rest) = values.split_first()?;
    if !matches!(first, Val::List(_) | Val::ObjectList(..)) {
        return None;
    }
    let items = match first.items()? {
        Ok(items) => items,
        Err(error) => return Some(Err(error)),
    };
    let size = items.len() as u64;
    Some(match (name, rest) {
        ("isSorted", []) => run.spend(size).and_then(|()| is_sorted(&items)),
        ("sum", []) => run.spend(size).and_then(|()| sum(&items)),
        ("min", []) => run.spend(size).and_then(|()| extreme("min", &items, Ordering::Less)),
        ("max", []) => run.spend(size).and_then(|()| extreme("max", &items, Ordering::Greater)),
        ("indexOf", [wanted]) => run.spend(size).and(Ok(place(items.iter().position(|item| equal(item, wanted))))),
        ("lastIndexOf", [wanted]) => run.spend(size).and(Ok(place(items.iter().rposition(|item| equal(item, wanted))))),
        ("join", []) => join(run, &items, ""),
        ("join", [Val::String(separator)]) => join(run, &items, separator),
        ("sets.contains", [other]) => sets(run, &items, other, |all, some| all.contains_all(some)),
        ("sets.equivalent", [other]) => {
            sets(run, &items, other, |a, b| a.contains_all(b) && Items(b).contains_all(a.0))
        }
        ("sets.intersects", [other]) => {
            sets(run, &items, other, |a, b| b.iter().any(|item| a.0.iter().any(|known| equal(known, item))))
        }
        _ => return None,
    })
}

fn place<'a>(at: Option<usize>) -> Val<'a> {
    Val::Int(at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1))
}

fn is_sorted<'a>(items: &[Val<'a>]) -> Evaluated<'a> {
    for pair in items.windows(2) {
        if let [a, b] = pair {
            match compare(a, b) {
                Some(Ordering::Greater) => return Ok(Val::Bool(false)),
                Some(_) => {}
                None => return Err(Error::NoSuchOverload),
            }
        }
    }
    Ok(Val::Bool(true))
}

fn sum<'a>(items: &[Val<'a>]) -> Evaluated<'a> {
    let mut items = items.iter();
    let Some(first) = items.next() else { return Ok(Val::Int(0)) };
    items.try_fold(first.clone(), |total, item| ops::arithmetic("_+_", &total, item))
}

fn extreme<'a>(name: &str, items: &[Val<'a>], wanted: Ordering) -> Evaluated<'a> {
    let mut items = items.iter();
    let Some(mut best) = items.next() else { return fail(format!("{name} called on empty list")) };
    for item in items {
        match compare(item, best) {
            Some(order) if order == wanted => best = item,
            Some(_) => {}
            None => return Err(Error::NoSuchOverload),
        }
    }
    Ok(best.clone())
}

fn join<'a>(run: &mut Evaluator<'a>, items: &[Val<'a>], separator: &str) -> Evaluated<'a> {
    let mut out = String::new();
    for (i, item) in items.iter().enumerate() {
        let Val::String(text) = item else { return Err(Error::NoSuchOverload) };
        run.spend(super::library::text_cost(text.len() + separator.len()).max(1))?;
        if i > 0 {
            out.push_str(separator);
        }
        out.push_str(text);
    }
    Ok(Val::text(out))
}

struct Items<'b, 'a>(&'b [Val<'a>]);

impl<'a> Items<'_, 'a> {
    fn contains_all(&self, others: &[Val<'a>]) -> bool {
        others.iter().all(|other| self.0.iter().any(|item| equal(item, other)))
    }
}

fn sets<'a>(
    run: &mut Evaluator<'a>,
    items: &[Val<'a>],
    other: &Val<'a>,
    test: impl Fn(&Items<'_, 'a>, &[Val<'a>]) -> bool,
) -> Evaluated<'a> {
    let others = other.items().ok_or(Error::NoSuchOverload)??;
    run.spend((items.len() as u64).saturating_mul(others.len() as u64).saturating_add(1))?;
    Ok(Val::Bool(test(&Items(items), &others)))
}
