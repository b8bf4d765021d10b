//! Objects in a copy. One that nobody reads for a while is packed: a Kubernetes object takes several times the memory of
//! what it says, and of a thousand clusters nearly all are at rest.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use lz4_flex::block::{compress_with_dict, decompress_with_dict};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::watched::Object;

/// Who is not read between two rounds is packed.
pub(crate) const ROUND: Duration = Duration::from_secs(10);
/// An object that serves as a model is gone through for every other that is packed.
const LONGEST_MODEL: usize = 32 * 1024;

/// What objects of one kind look like: one of them, as JSON.
type Model = Arc<[u8]>;

/// The models of all kinds. They mean nothing, but the fewer there are the better.
static MODELS: LazyLock<Mutex<HashMap<(TypeId, String), Model>>> = LazyLock::new(Mutex::default);

/// An object, at hand or packed.
pub(crate) struct Kept<K> {
    revision: Option<u64>,
    state: Mutex<State<K>>,
}

enum State<K> {
    AtHand { object: Arc<K>, was_read: bool },
    Packed(Packed),
}

/// An object as it is while nobody reads it.
pub(crate) struct Packed {
    bytes: Box<[u8]>,
    length: u32,
}

/// Whether nobody has read an object since this was asked last.
pub(crate) enum Unread<K> {
    /// Somebody has; from now on it counts as unread.
    NotYet,
    /// Nobody has.
    Since(Arc<K>),
    /// It is packed, or somebody holds it.
    Nothing,
}

impl<K> Kept<K> {
    pub(crate) fn new(object: Arc<K>, revision: Option<u64>) -> Self {
        Self { revision, state: Mutex::new(State::AtHand { object, was_read: true }) }
    }

    pub(crate) fn revision(&self) -> Option<u64> {
        self.revision
    }

    pub(crate) fn unread(&self) -> Unread<K> {
        match &mut *self.state.lock() {
            State::AtHand { was_read, .. } if *was_read => {
                *was_read = false;
                Unread::NotYet
            }
            State::AtHand { object, .. } if Arc::strong_count(object) == 1 => Unread::Since(Arc::clone(object)),
            _ => Unread::Nothing,
        }
    }

    /// Keeps what `object` was packed to in its place, unless somebody came for it meanwhile.
    pub(crate) fn replace(&self, object: &Arc<K>, packed: Packed) {
        let mut state = self.state.lock();
        if let State::AtHand { object: known, was_read: false } = &*state
            && Arc::ptr_eq(known, object)
        {
            *state = State::Packed(packed);
        }
    }

    /// How long the object is while it is packed.
    #[cfg(test)]
    pub(crate) fn packed(&self) -> Option<usize> {
        match &*self.state.lock() {
            State::AtHand { .. } => None,
            State::Packed(packed) => Some(packed.bytes.len()),
        }
    }
}

impl<K: DeserializeOwned> Kept<K> {
    /// The object. There always is one: what is packed has been unpacked once.
    pub(crate) fn get(&self, packing: &Packing) -> Option<Arc<K>> {
        let mut state = self.state.lock();
        match &mut *state {
            State::AtHand { object, was_read } => {
                *was_read = true;
                Some(Arc::clone(object))
            }
            State::Packed(packed) => {
                let object = Arc::new(packing.unpack(packed)?);
                *state = State::AtHand { object: Arc::clone(&object), was_read: true };
                packing.has_unpacked.store(true, Ordering::Relaxed);
                Some(object)
            }
        }
    }
}

/// How objects of a copy are packed: by the first one of their kind.
pub(crate) struct Packing {
    kind: String,
    model: OnceLock<Model>,
    has_unpacked: AtomicBool,
}

impl Packing {
    pub(crate) fn new(kind: &str) -> Self {
        Self { kind: kind.to_owned(), model: OnceLock::new(), has_unpacked: AtomicBool::new(false) }
    }

    /// Whether something was unpacked since this was asked last, which is to be packed again some time.
    pub(crate) fn has_unpacked(&self) -> bool {
        self.has_unpacked.load(Ordering::Relaxed) && self.has_unpacked.swap(false, Ordering::Relaxed)
    }

    /// Nothing if the object would not come back as it is.
    pub(crate) fn pack<K: Object>(&self, object: &K) -> Option<Packed> {
        let text = serde_json::to_vec(object).ok()?;
        let model = self.model.get_or_init(|| self.model(object, &text));
        let bytes = compress_with_dict(&text, model).into_boxed_slice();
        let packed = Packed { bytes, length: u32::try_from(text.len()).ok()? };
        let unpacked: K = self.unpack(&packed)?;
        (serde_json::to_vec(&unpacked).ok()? == text).then_some(packed)
    }

    fn unpack<K: DeserializeOwned>(&self, packed: &Packed) -> Option<K> {
        let text = decompress_with_dict(&packed.bytes, packed.length as usize, self.model.get()?).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The model of the kind, which this object becomes if there is none.
    fn model<K: Object>(&self, object: &K, text: &[u8]) -> Model {
        let first = || -> Model {
            match text.len() {
                // A secret is not to outlive its object, and is like no other.
                _ if TypeId::of::<K>() == TypeId::of::<Secret>() => {
                    serde_json::to_vec(object.meta()).unwrap_or_default().into()
                }
                0..=LONGEST_MODEL => text.into(),
                _ => Model::from([]),
            }
        };
        Arc::clone(MODELS.lock().entry((TypeId::of::<K>(), self.kind.clone())).or_insert_with(first))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ObjectMeta;
    use serde::{Deserialize, Serialize};

    use super::*;

    fn named(name: &str) -> ObjectMeta {
        ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() }
    }

    fn map(name: &str) -> Arc<ConfigMap> {
        let data = Some([("text".to_owned(), "same ".repeat(100))].into());
        Arc::new(ConfigMap { metadata: named(name), data, ..ConfigMap::default() })
    }

    /// What a round does.
    fn look<K: Object>(kept: &Kept<K>, packing: &Packing) -> &'static str {
        match kept.unread() {
            Unread::NotYet => "not yet",
            Unread::Nothing => "nothing",
            Unread::Since(object) => match packing.pack(&*object) {
                Some(packed) => {
                    kept.replace(&object, packed);
                    "packed"
                }
                None => "unpackable",
            },
        }
    }

    #[test]
    fn what_nobody_reads_is_packed_and_comes_back_the_same() {
        let packing = Packing::new("OfThisTest");
        let all: Vec<_> = ["a", "b"].map(|name| Kept::new(map(name), None)).into();
        for kept in &all {
            assert_eq!(look(kept, &packing), "not yet");
            assert!(kept.get(&packing).is_some());
            assert_eq!(
                [look(kept, &packing), look(kept, &packing), look(kept, &packing)],
                ["not yet", "packed", "nothing"]
            );
        }
        assert!(!packing.has_unpacked());
        assert!(all[1].packed().is_some_and(|length| length < 40), "{:?}", all[1].packed());
        assert_eq!(all[1].get(&packing), Some(map("b")));
        assert!(all[1].packed().is_none() && packing.has_unpacked() && !packing.has_unpacked());
        assert_eq!(all[0].get(&packing), Some(map("a")));
    }

    #[test]
    fn what_somebody_holds_or_comes_for_is_not_packed() {
        let (packing, held) = (Packing::new("Held"), map("a"));
        let kept = Kept::new(Arc::clone(&held), None);
        assert_eq!([look(&kept, &packing), look(&kept, &packing)], ["not yet", "nothing"]);
        drop(held);
        let Unread::Since(object) = kept.unread() else { panic!("nobody holds it") };
        let packed = packing.pack(&*object).unwrap();
        assert!(kept.get(&packing).is_some());
        kept.replace(&object, packed);
        assert!(kept.packed().is_none());
    }

    #[test]
    fn what_would_come_back_as_something_else_is_not_packed() {
        #[derive(Clone, Serialize, Deserialize, kube::Resource)]
        #[resource(inherit = ConfigMap)]
        struct Odd {
            metadata: ObjectMeta,
            #[serde(rename(serialize = "written", deserialize = "read"), default)]
            value: u8,
        }
        let (packing, kept) = (Packing::new("Odd"), Kept::new(Arc::new(Odd { metadata: named("a"), value: 1 }), None));
        assert_eq!([look(&kept, &packing), look(&kept, &packing)], ["not yet", "unpackable"]);
    }

    #[test]
    fn no_secret_is_a_model() {
        let data = Some([("key".to_owned(), ByteString(b"hidden".repeat(20)))].into());
        let (packing, secret) = (Packing::new("Secret"), Secret { metadata: named("a"), data, ..Secret::default() });
        assert!(packing.pack(&secret).is_some());
        let model = String::from_utf8_lossy(packing.model.get().unwrap()).into_owned();
        assert_eq!(model, r#"{"name":"a"}"#);
    }
}
