//! One copy of equal values for the whole process.
//!
//! Every logical API holds the same default roles. Sharing them keeps an empty one small.

use std::{
    collections::HashSet,
    hash::Hash,
    sync::{Arc, LazyLock},
};

use parking_lot::Mutex;

use super::{Binding, PolicyRule};

static RULES: LazyLock<Pool<Vec<PolicyRule>>> = LazyLock::new(Pool::default);
static BINDINGS: LazyLock<Pool<Binding>> = LazyLock::new(Pool::default);

/// The shared copy of these rules.
pub(super) fn rules(rules: Vec<PolicyRule>) -> Arc<Vec<PolicyRule>> {
    RULES.share(rules)
}

/// The shared copy of this binding.
pub(super) fn binding(binding: Binding) -> Arc<Binding> {
    BINDINGS.share(binding)
}

struct Pool<T> {
    state: Mutex<PoolState<T>>,
}

struct PoolState<T> {
    values: HashSet<Arc<T>>,
    /// Unused values are dropped when the pool grows to this size.
    sweep_at: usize,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { state: Mutex::new(PoolState { values: HashSet::new(), sweep_at: 1024 }) }
    }
}

impl<T: Hash + Eq> Pool<T> {
    fn share(&self, value: T) -> Arc<T> {
        let mut state = self.state.lock();
        if let Some(known) = state.values.get(&value) {
            return known.clone();
        }
        if state.values.len() >= state.sweep_at {
            state.values.retain(|value| Arc::strong_count(value) > 1);
            state.sweep_at = (state.values.len() * 2).max(1024);
        }
        let value = Arc::new(value);
        state.values.insert(value.clone());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_and_unused_ones_go() {
        let pool = Pool::<String>::default();
        let (a, b) = (pool.share("x".to_owned()), pool.share("x".to_owned()));
        assert!(Arc::ptr_eq(&a, &b));
        for number in 0..5000 {
            pool.share(number.to_string());
        }
        assert!(pool.state.lock().values.len() <= 1024);
        assert!(Arc::ptr_eq(&a, &pool.share("x".to_owned())));
    }
}
