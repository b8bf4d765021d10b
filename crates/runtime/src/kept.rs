//! Objects in a copy. One that nobody reads for a while is packed: a Kubernetes object takes ten times the memory of what it
//! says, and of a thousand clusters nearly all are at rest.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use lz4_flex::block::{compress_with_dict, decompress_with_dict};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Who is not read between two rounds is packed.
pub(crate) const ROUND: Duration = Duration::from_secs(10);
/// An object that serves as a model is gone through for every other that is packed.
const LONGEST_MODEL: usize = 32 * 1024;

/// What objects of one kind look like: one of them, as JSON.
type Model = Arc<[u8]>;

/// The models of all kinds. They mean nothing, but the fewer there are the better.
static MODELS: LazyLock<Mutex<HashMap<TypeId, Model>>> = LazyLock::new(Mutex::default);

/// An object, at hand or packed.
pub(crate) struct Kept<K>(Mutex<State<K>>);

enum State<K> {
    AtHand { object: Arc<K>, was_read: bool },
    Packed { bytes: Box<[u8]>, length: u32 },
}

/// How objects of a copy are packed: by the first one.
#[derive(Default)]
pub(crate) struct Packing {
    model: OnceLock<Model>,
    has_unpacked: AtomicBool,
}

impl<K> Kept<K> {
    pub(crate) fn new(object: Arc<K>) -> Self {
        Self(Mutex::new(State::AtHand { object, was_read: true }))
    }

    /// How long the object is while it is packed.
    #[cfg(test)]
    pub(crate) fn packed(&self) -> Option<usize> {
        match &*self.0.lock() {
            State::AtHand { .. } => None,
            State::Packed { bytes, .. } => Some(bytes.len()),
        }
    }
}

impl<K: Serialize + DeserializeOwned + 'static> Kept<K> {
    /// The object. There always is one: what is packed has been unpacked once.
    pub(crate) fn get(&self, packing: &Packing) -> Option<Arc<K>> {
        let mut state = self.0.lock();
        match &mut *state {
            State::AtHand { object, was_read } => {
                *was_read = true;
                Some(Arc::clone(object))
            }
            State::Packed { bytes, length } => {
                let object = Arc::new(packing.unpack(bytes, *length)?);
                *state = State::AtHand { object: Arc::clone(&object), was_read: true };
                packing.has_unpacked.store(true, Ordering::Relaxed);
                Some(object)
            }
        }
    }

    /// Packs the object if nobody has read it since the last time, and nobody holds it. Whether there may be more to do next
    /// time.
    pub(crate) fn rest(&self, packing: &Packing) -> bool {
        let mut state = self.0.lock();
        let State::AtHand { object, was_read } = &mut *state else { return false };
        if *was_read {
            *was_read = false;
            return true;
        }
        if Arc::strong_count(object) == 1
            && let Some((bytes, length)) = packing.pack(&**object)
        {
            *state = State::Packed { bytes, length };
        }
        false
    }
}

impl Packing {
    /// Whether something was unpacked since this was asked last, which is to be packed again some time.
    pub(crate) fn has_unpacked(&self) -> bool {
        self.has_unpacked.load(Ordering::Relaxed) && self.has_unpacked.swap(false, Ordering::Relaxed)
    }

    /// Nothing if the object would not come back as it is.
    fn pack<K: Serialize + DeserializeOwned + 'static>(&self, object: &K) -> Option<(Box<[u8]>, u32)> {
        let text = serde_json::to_vec(object).ok()?;
        let model = self.model.get_or_init(|| model::<K>(&text));
        let packed = compress_with_dict(&text, model).into_boxed_slice();
        let length = u32::try_from(text.len()).ok()?;
        let unpacked: K = self.unpack(&packed, length)?;
        (serde_json::to_vec(&unpacked).ok()? == text).then_some((packed, length))
    }

    fn unpack<K: DeserializeOwned>(&self, packed: &[u8], length: u32) -> Option<K> {
        let text = decompress_with_dict(packed, length as usize, self.model.get()?).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// The model of a kind, which this object becomes if there is none.
fn model<K: 'static>(text: &[u8]) -> Model {
    let mut models = MODELS.lock();
    let first = || Model::from(if text.len() <= LONGEST_MODEL { text } else { &[] });
    Arc::clone(models.entry(TypeId::of::<K>()).or_insert_with(first))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ObjectMeta;
    use serde::Deserialize;

    use super::*;

    fn map(name: &str) -> Arc<ConfigMap> {
        let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
        let data = Some([("text".to_owned(), "same ".repeat(100))].into());
        Arc::new(ConfigMap { metadata, data, ..ConfigMap::default() })
    }

    #[test]
    fn what_nobody_reads_is_packed_and_comes_back_the_same() {
        let packing = Packing::default();
        let all: Vec<_> = ["a", "b"].map(|name| Kept::new(map(name))).into();
        for kept in &all {
            assert!(kept.rest(&packing), "it may be read again");
            assert!(kept.get(&packing).is_some() && kept.rest(&packing));
            assert!(kept.packed().is_none() && !kept.rest(&packing));
        }
        assert!(!packing.has_unpacked());
        assert!(all[1].packed().is_some_and(|length| length < 40), "{:?}", all[1].packed());
        assert_eq!(all[1].get(&packing), Some(map("b")));
        assert!(all[1].packed().is_none() && packing.has_unpacked() && !packing.has_unpacked());
        assert_eq!(all[0].get(&packing), Some(map("a")));
    }

    #[test]
    fn what_somebody_holds_is_not_packed() {
        let (packing, held) = (Packing::default(), map("a"));
        let kept = Kept::new(Arc::clone(&held));
        kept.rest(&packing);
        assert!(!kept.rest(&packing) && kept.packed().is_none());
        drop(held);
        assert!(!kept.rest(&packing) && kept.packed().is_some());
    }

    #[test]
    fn what_would_come_back_as_something_else_is_not_packed() {
        #[derive(Serialize, Deserialize)]
        struct Odd {
            #[serde(rename(serialize = "written", deserialize = "read"), default)]
            value: u8,
        }
        let (packing, kept) = (Packing::default(), Kept::new(Arc::new(Odd { value: 1 })));
        kept.rest(&packing);
        assert!(!kept.rest(&packing) && kept.packed().is_none());
    }
}
