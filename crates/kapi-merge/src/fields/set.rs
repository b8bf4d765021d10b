//! The set itself.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use super::PathElement;

/// A set of field paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Sorted by element; no node is without members.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) element: PathElement,
    /// Whether the path that ends here is in the set.
    pub(crate) member: bool,
    pub(crate) below: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of these paths, each given as field names.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            let path: Vec<_> = path.iter().map(|name| PathElement::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many paths are in the set.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| usize::from(node.member) + node.below.len()).sum()
    }

    /// Adds one path. The empty path, the object itself, is never owned and not added.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut set = self;
        for element in parents {
            set = &mut set.node(element).below;
        }
        set.node(last).member = true;
    }

    /// Whether this path is in the set.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut set = self;
        for element in parents {
            match set.below(element) {
                Some(below) => set = below,
                None => return false,
            }
        }
        set.contains_element(last)
    }

    /// Whether the path of just this element is in the set.
    pub fn contains_element(&self, element: &PathElement) -> bool {
        self.find(element).is_some_and(|node| node.member)
    }

    /// The paths that begin with `element`, without it.
    pub fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        self.find(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// The paths in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let (mut a, mut b) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        loop {
            let order = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) => x.element.cmp(&y.element),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            match order {
                Ordering::Less => nodes.extend(a.next().cloned()),
                Ordering::Greater => nodes.extend(b.next().cloned()),
                Ordering::Equal => {
                    if let (Some(x), Some(y)) = (a.next(), b.next()) {
                        nodes.push(Node {
                            element: x.element.clone(),
                            member: x.member || y.member,
                            below: x.below.union(&y.below),
                        });
                    }
                }
            }
        }
        Self { nodes }
    }

    /// The paths in any of the sets, joined in pairs so that many sets cost no more than their size.
    #[must_use]
    pub fn union_of<'a>(sets: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sets: Vec<Cow<'a, Self>> = sets.into_iter().map(Cow::Borrowed).collect();
        while sets.len() > 1 {
            sets = sets
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => Cow::Owned(a.union(b)),
                    _ => pair.iter().next().cloned().unwrap_or_default(),
                })
                .collect();
        }
        sets.pop().unwrap_or_default().into_owned()
    }

    /// The paths in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut nodes = Vec::new();
        self.beside(other, |node, twin| {
            if let Some(twin) = twin {
                let member = node.member && twin.member;
                let below = node.below.intersection(&twin.below);
                if member || !below.is_empty() {
                    nodes.push(Node { element: node.element.clone(), member, below });
                }
            }
        });
        Self { nodes }
    }

    /// The paths of this set that are not in the other. What is below a path of the other stays.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut nodes = Vec::new();
        self.beside(other, |node, twin| match twin {
            None => nodes.push(node.clone()),
            Some(twin) => {
                let member = node.member && !twin.member;
                let below = node.below.difference(&twin.below);
                if member || !below.is_empty() {
                    nodes.push(Node { element: node.element.clone(), member, below });
                }
            }
        });
        Self { nodes }
    }

    /// The paths of this set that are neither in the other nor below a path of it.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        let mut nodes = Vec::new();
        self.beside(other, |node, twin| match twin {
            None => nodes.push(node.clone()),
            Some(twin) if twin.member => {}
            Some(twin) => {
                let below = node.below.recursive_difference(&twin.below);
                if node.member || !below.is_empty() {
                    nodes.push(Node { element: node.element.clone(), member: node.member, below });
                }
            }
        });
        Self { nodes }
    }

    /// The paths that have no other path of the set below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let nodes = self
            .nodes
            .iter()
            .map(|node| Node {
                element: node.element.clone(),
                member: node.member && node.below.is_empty(),
                below: node.below.leaves(),
            })
            .collect();
        Self { nodes }
    }

    /// Calls `each` with every path, those of one level before those below them.
    pub fn for_each(&self, each: &mut impl FnMut(&[PathElement])) {
        self.walk(&mut Vec::new(), each);
    }

    fn walk(&self, path: &mut Vec<PathElement>, each: &mut impl FnMut(&[PathElement])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            path.push(node.element.clone());
            each(path);
            path.pop();
        }
        for node in self.nodes.iter().filter(|node| !node.below.is_empty()) {
            path.push(node.element.clone());
            node.below.walk(path, each);
            path.pop();
        }
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    /// A set of nodes in any order; of equal elements the last wins, and empty nodes go.
    pub(crate) fn from_nodes(mut nodes: Vec<Node>) -> Self {
        nodes.retain(|node| !node.is_empty());
        if !nodes.is_sorted_by(|a, b| a.element < b.element) {
            nodes.sort_by(|a, b| a.element.cmp(&b.element));
            nodes.reverse();
            nodes.dedup_by(|a, b| a.element == b.element);
            nodes.reverse();
        }
        Self { nodes }
    }

    fn find(&self, element: &PathElement) -> Option<&Node> {
        let at = self.nodes.binary_search_by(|node| node.element.cmp(element)).ok()?;
        self.nodes.get(at)
    }

    fn node(&mut self, element: &PathElement) -> &mut Node {
        let at = match self.nodes.binary_search_by(|node| node.element.cmp(element)) {
            Ok(at) => at,
            Err(at) => {
                let node = Node { element: element.clone(), member: false, below: Self::new() };
                self.nodes.insert(at, node);
                at
            }
        };
        &mut self.nodes[at]
    }

    /// Calls `each` with every node of this set and the other's node of the same element.
    fn beside<'a>(&'a self, other: &'a Self, mut each: impl FnMut(&'a Node, Option<&'a Node>)) {
        let mut twins = other.nodes.iter().peekable();
        for node in &self.nodes {
            while twins.next_if(|twin| twin.element < node.element).is_some() {}
            each(node, twins.next_if(|twin| twin.element == node.element));
        }
    }
}

impl fmt::Display for FieldSet {
    /// One path per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        self.for_each(&mut |path| lines.push(path_text(path)));
        f.write_str(&lines.join("\n"))
    }
}

/// A path as messages print it: `.spec.ports[port=80,protocol="TCP"].name`.
pub(crate) fn path_text(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&[&str]]) -> FieldSet {
        FieldSet::of_fields(paths)
    }

    #[test]
    fn operations_treat_parents_and_children_apart() {
        let all = set(&[&["a"], &["a", "b"], &["a", "c"], &["d"]]);
        let some = set(&[&["a"], &["a", "b"]]);
        assert_eq!(all.difference(&some), set(&[&["a", "c"], &["d"]]));
        assert_eq!(all.recursive_difference(&some), set(&[&["d"]]));
        assert_eq!(all.intersection(&some), some);
        assert_eq!(some.union(&set(&[&["d"], &["a", "c"]])), all);
        assert_eq!(FieldSet::union_of([&some, &set(&[&["d"]]), &set(&[&["a", "c"]])]), all);
        assert!(FieldSet::union_of([]).is_empty());
        assert_eq!(all.leaves(), set(&[&["a", "b"], &["a", "c"], &["d"]]));
        assert_eq!(all.len(), 4);
        assert_eq!(set(&[&["a", "b"]]).difference(&set(&[&["a"]])), set(&[&["a", "b"]]));
    }

    #[test]
    fn paths_of_one_level_come_before_those_below() {
        assert_eq!(set(&[&["a", "b"], &["c"], &["a"]]).to_string(), ".a\n.c\n.a.b");
    }
}
