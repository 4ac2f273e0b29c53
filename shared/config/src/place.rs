//! Finds the line and column of a value. Only errors ask for it, so the text is read once more then.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess},
};
use serde_saphyr::{Location, Spanned};

use crate::{KeyPath, document::from_yaml_str, error::Place, path::Step};

/// The place of the key or item at `path` in YAML or JSON text, or of the last one on the way to it that exists.
/// `None` for text that is neither, and for the root.
pub(crate) fn find(text: &str, path: &KeyPath) -> Option<Place> {
    let mut tree = &from_yaml_str::<Spanned<Tree>>(text).ok()?.value;
    let mut found = None;
    for step in path.steps() {
        let next = match (tree, step) {
            (Tree::Map(entries), Step::Key(key)) => {
                entries.iter().find(|(name, _)| name.value == *key).map(|(name, value)| (name.referenced, value))
            }
            (Tree::List(items), Step::Item(index)) => items.get(*index).map(|item| (item.referenced, item)),
            _ => None,
        };
        let Some((at, value)) = next else { break };
        found = Some(at);
        tree = &value.value;
    }
    found.filter(|at| *at != Location::UNKNOWN).map(|at| Place { line: at.line(), column: at.column() })
}

/// The shape of a document, with places in place of values.
enum Tree {
    Leaf,
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl<'de> de::Visitor<'de> for Visitor {
    type Value = Tree;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }
}
