//! Which types fit where, and what stands for a type that is yet to be found out.

use std::sync::Arc;

use super::types::Ty;

/// What unknown types have turned out to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Known<'a> {
    found: Vec<Option<Ty<'a>>>,
}

impl<'a> Known<'a> {
    /// A type to be found out.
    pub(super) fn fresh(&mut self) -> Ty<'a> {
        self.found.push(None);
        Ty::Unknown(u32::try_from(self.found.len() - 1).unwrap_or(u32::MAX))
    }

    /// The type, with all that is known put in.
    pub(super) fn resolve(&self, ty: &Ty<'a>) -> Ty<'a> {
        match ty {
            Ty::Unknown(id) => match self.found.get(*id as usize) {
                Some(Some(known)) => self.resolve(known),
                _ => ty.clone(),
            },
            Ty::List(item) => Ty::List(Arc::new(self.resolve(item))),
            Ty::Map(key, value) => Ty::Map(Arc::new(self.resolve(key)), Arc::new(self.resolve(value))),
            Ty::Optional(inner) => Ty::Optional(Arc::new(self.resolve(inner))),
            other => other.clone(),
        }
    }

    /// Whether a value of type `from` may stand where `to` is wanted; what that tells of unknown types is kept.
    pub(super) fn fits(&mut self, from: &Ty<'a>, to: &Ty<'a>) -> bool {
        let (from, to) = (self.resolve(from), self.resolve(to));
        match (&from, &to) {
            (Ty::Unknown(a), Ty::Unknown(b)) if a == b => true,
            (Ty::Unknown(id), other) | (other, Ty::Unknown(id)) => {
                let known = other.clone();
                if let Some(slot) = self.found.get_mut(*id as usize) {
                    *slot = Some(known);
                }
                true
            }
            (Ty::Dyn, _) | (_, Ty::Dyn) => true,
            (Ty::Null, Ty::Object(_) | Ty::Opaque(_) | Ty::Timestamp | Ty::Duration | Ty::Optional(_)) => true,
            (Ty::Object(_) | Ty::Opaque(_) | Ty::Timestamp | Ty::Duration | Ty::Optional(_), Ty::Null) => true,
            (Ty::List(a), Ty::List(b)) | (Ty::Optional(a), Ty::Optional(b)) => self.fits(a, b),
            (Ty::Map(k1, v1), Ty::Map(k2, v2)) => self.fits(k1, k2) && self.fits(v1, v2),
            (a, b) => a == b,
        }
    }

    /// A signature's type with its parameters made unknowns of this call.
    pub(super) fn instantiate(&mut self, ty: &Ty<'static>, params: &mut [Option<Ty<'a>>; 2]) -> Ty<'a> {
        match ty {
            Ty::Param(n) => match params.get(usize::from(*n)).cloned().flatten() {
                Some(known) => known,
                None => {
                    let fresh = self.fresh();
                    if let Some(slot) = params.get_mut(usize::from(*n)) {
                        *slot = Some(fresh.clone());
                    }
                    fresh
                }
            },
            Ty::List(item) => Ty::List(Arc::new(self.instantiate(item, params))),
            Ty::Map(key, value) => {
                let key = self.instantiate(key, params);
                Ty::Map(Arc::new(key), Arc::new(self.instantiate(value, params)))
            }
            Ty::Optional(inner) => Ty::Optional(Arc::new(self.instantiate(inner, params))),
            Ty::Dyn => Ty::Dyn,
            Ty::Null => Ty::Null,
            Ty::Bool => Ty::Bool,
            Ty::Int => Ty::Int,
            Ty::Uint => Ty::Uint,
            Ty::Double => Ty::Double,
            Ty::String => Ty::String,
            Ty::Bytes => Ty::Bytes,
            Ty::Timestamp => Ty::Timestamp,
            Ty::Duration => Ty::Duration,
            Ty::Type => Ty::Type,
            Ty::Opaque(name) => Ty::Opaque(name),
            Ty::Object(object) => Ty::Object(*object),
            Ty::Unknown(id) => Ty::Unknown(*id),
        }
    }
}
