//! CEL expressions as trees. Macros stay what they are, so that they can be checked and run without rewriting.

/// An expression and where it stands in its source: the offset of what names it, counted in characters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) at: u32,
    /// How deep the tree below is; bounded when parsing, so that walkers may recurse.
    pub(crate) depth: u16,
    pub(crate) kind: Kind,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Literal(Literal),
    Ident(String),
    Select {
        operand: Box<Expr>,
        field: String,
        /// `has(a.b)` rather than `a.b`.
        test: bool,
        /// `a.?b`
        optional: bool,
    },
    /// `a[b]` and `a[?b]`
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    /// A function, a method, or an operator under its name, such as `_+_`.
    Call {
        target: Option<Box<Expr>>,
        function: String,
        args: Vec<Expr>,
    },
    /// `a && b && c`, or the same with `||`.
    Logic {
        and: bool,
        terms: Vec<Expr>,
    },
    Conditional(Box<[Expr; 3]>),
    /// Items, with whether each is `?item`.
    List(Vec<(Expr, bool)>),
    /// Entries, with whether each is `?key: value`.
    Map(Vec<(Expr, Expr, bool)>),
    Macro(Box<Macro>),
}

/// A macro that binds a variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Macro {
    pub(crate) kind: MacroKind,
    pub(crate) range: Expr,
    pub(crate) first: String,
    /// The second variable of the two-variable forms.
    pub(crate) second: Option<String>,
    pub(crate) filter: Option<Expr>,
    pub(crate) body: Expr,
}

/// Which macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    TransformList,
    TransformMap,
    TransformMapEntry,
    OptMap,
    OptFlatMap,
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(std::sync::Arc<str>),
    Bytes(std::sync::Arc<[u8]>),
}

impl Expr {
    /// Calls `visit` on this expression and all below it.
    pub(crate) fn walk(&self, visit: &mut impl FnMut(&Expr)) {
        visit(self);
        match &self.kind {
            Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select { operand, .. } => operand.walk(visit),
            Kind::Index { operand, index, .. } => {
                operand.walk(visit);
                index.walk(visit);
            }
            Kind::Call { target, args, .. } => {
                target.iter().for_each(|target| target.walk(visit));
                args.iter().for_each(|arg| arg.walk(visit));
            }
            Kind::Logic { terms, .. } => terms.iter().for_each(|term| term.walk(visit)),
            Kind::Conditional(parts) => parts.iter().for_each(|part| part.walk(visit)),
            Kind::List(items) => items.iter().for_each(|(item, _)| item.walk(visit)),
            Kind::Map(entries) => entries.iter().for_each(|(key, value, _)| {
                key.walk(visit);
                value.walk(visit);
            }),
            Kind::Macro(inner) => {
                inner.range.walk(visit);
                inner.filter.iter().for_each(|filter| filter.walk(visit));
                inner.body.walk(visit);
            }
        }
    }

    /// Whether a free variable of this name occurs. A macro's own variable of the name hides it.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let mut used = false;
        self.walk(&mut |expr| used |= matches!(&expr.kind, Kind::Ident(ident) if ident == name));
        used
    }
}
