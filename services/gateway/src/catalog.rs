//! What the cluster offers, as this gateway knows it: lists come from here, and entries lead to their nodes.
//!
//! Built anew from each picture of the nodes and swapped whole. Where nodes disagree about an entry the registry says
//! which one is listed, and calls go only to nodes that have it. Lists follow the order of the nodes that offer them.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use switchyard_mcp::{Revision, definitions, header_params::HeaderParam};
use switchyard_state::{Entry, EntryKind, NodeId, Snapshot};

/// Everything on offer.
#[derive(Default)]
pub struct Catalog {
    /// Tools by name.
    pub tools: Section,
    /// Prompts by name.
    pub prompts: Section,
    /// Resource templates by URI template.
    pub templates: Section,
    /// Resource providers by name.
    pub providers: Section,
}

/// The entries of one kind, in the order in which they are listed.
#[derive(Default)]
pub struct Section {
    items: Vec<Item>,
    by_name: HashMap<String, usize>,
}

/// One entry, and who has it.
pub struct Item {
    /// The entry as it was announced.
    pub entry: Entry,
    /// The nodes that have exactly this one.
    pub nodes: Vec<NodeId>,
    /// A tool's arguments that clients repeat in headers.
    header_params: Vec<HeaderParam>,
    /// Its definition for each revision, made when it is first asked for.
    shown: [OnceLock<String>; Revision::ALL.len()],
}

impl Catalog {
    /// The catalogue that these nodes make.
    pub fn of(snapshot: &Snapshot) -> Self {
        let section = |kind| Section::of(snapshot, kind);
        Self {
            tools: section(EntryKind::Tool),
            prompts: section(EntryKind::Prompt),
            templates: section(EntryKind::Template),
            providers: section(EntryKind::Provider),
        }
    }

    /// The provider that owns a URI: the one with the longest prefix of it.
    pub fn provider_of(&self, uri: &str) -> Option<&Item> {
        let owns = |item: &&Item| uri.starts_with(item.entry.prefix.as_str());
        self.providers.items.iter().filter(owns).max_by_key(|item| item.entry.prefix.len())
    }
}

impl Section {
    fn of(snapshot: &Snapshot, kind: EntryKind) -> Self {
        let mut found: HashMap<&str, (usize, Item)> = HashMap::new();
        for node in &snapshot.nodes {
            let of_kind = node.entries.iter().filter(|entry| entry.kind == kind);
            for (position, entry) in of_kind.enumerate() {
                if snapshot.listed.get(&(kind, entry.name.clone())) != Some(&entry.digest) {
                    continue;
                }
                let (first, item) = found.entry(&entry.name).or_insert_with(|| (position, Item::of(entry)));
                *first = position.min(*first);
                item.nodes.push(node.id.clone());
            }
        }

        let mut listed: Vec<_> = found.into_values().collect();
        listed.sort_by(|(left_place, left), (right_place, right)| {
            (left_place, &left.entry.name).cmp(&(right_place, &right.entry.name))
        });
        let items: Vec<Item> = listed.into_iter().map(|(_, item)| item).collect();
        let by_name = items.iter().enumerate().map(|(index, item)| (item.entry.name.clone(), index)).collect();
        Self { items, by_name }
    }

    /// The entry of that name.
    pub fn get(&self, name: &str) -> Option<&Item> {
        self.by_name.get(name).map(|index| &self.items[*index])
    }

    /// At most `limit` entries after the one called `after`, or from the first on, and whether more follow. `None`
    /// when there is none of that name.
    pub fn page(&self, after: Option<&str>, limit: usize) -> Option<(&[Item], bool)> {
        let start = match after {
            None => 0,
            Some(name) => self.by_name.get(name)? + 1,
        };
        let rest = &self.items[start..];
        Some((&rest[..rest.len().min(limit)], rest.len() > limit))
    }

    /// How many entries come before the one called `name`.
    pub fn before(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The entries from a place on.
    pub fn from(&self, place: usize) -> &[Item] {
        self.items.get(place..).unwrap_or_default()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }
}

impl Item {
    fn of(entry: &Entry) -> Self {
        let header_params = match entry.kind {
            EntryKind::Tool => HeaderParam::of_tool(&entry.definition),
            _ => Vec::new(),
        };
        Self { entry: entry.clone(), nodes: Vec::new(), header_params, shown: Default::default() }
    }

    /// A tool's arguments that clients repeat in headers.
    pub fn header_params(&self) -> &[HeaderParam] {
        &self.header_params
    }

    /// Its definition as a client of `revision` sees it.
    pub fn shown(&self, revision: Revision) -> &str {
        self.shown[revision.index()].get_or_init(|| {
            let show = match self.entry.kind {
                EntryKind::Tool => definitions::tool,
                EntryKind::Prompt => definitions::prompt,
                EntryKind::Template | EntryKind::Provider => definitions::template,
            };
            show(&self.entry.definition, revision)
        })
    }
}

/// The catalogue of the moment, read without waiting.
pub type Current = Arc<arc_swap::ArcSwap<Catalog>>;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use switchyard_state::{NodeRecord, TaskSupport};

    use super::*;

    fn entry(name: &str, digest: &str) -> Entry {
        Entry {
            kind: EntryKind::Tool,
            name: name.into(),
            definition: format!(r#"{{"name":"{name}","title":"{digest}","inputSchema":{{"type":"object"}}}}"#),
            digest: digest.into(),
            needs: String::new(),
            prefix: String::new(),
            repeatable: false,
            timeout_ms: 0,
            tasks: TaskSupport::Never,
        }
    }

    fn node(id: &str, entries: Vec<Entry>) -> NodeRecord {
        let roles = vec!["tools".into()];
        NodeRecord { id: NodeId(id.into()), address: String::new(), version: String::new(), roles, entries }
    }

    fn catalog(nodes: Vec<NodeRecord>) -> Catalog {
        let entries = nodes.iter().flat_map(|node| &node.entries);
        let listed = entries.map(|entry| ((entry.kind, entry.name.clone()), entry.digest.clone())).collect();
        Catalog::of(&Snapshot { version: 1, generation: 1, nodes, listed })
    }

    #[test]
    fn calls_go_only_to_nodes_that_have_the_listed_entry() {
        let catalog = catalog(vec![
            node("a", vec![entry("t", "old")]),
            node("b", vec![entry("t", "new")]),
            node("c", vec![entry("t", "new")]),
        ]);

        let item = catalog.tools.get("t").unwrap();

        assert_eq!(item.entry.digest, "new");
        assert_eq!(item.nodes, [NodeId("b".into()), NodeId("c".into())]);
    }

    #[test]
    fn the_order_is_the_nodes_own_and_pages_follow_it() {
        let catalog = catalog(vec![node("a", vec![entry("z", "1"), entry("m", "1"), entry("b", "1")])]);
        let names = |items: &[Item]| items.iter().map(|item| item.entry.name.clone()).collect::<Vec<_>>();

        let (first, more) = catalog.tools.page(None, 2).unwrap();
        assert_eq!((names(first), more), (vec!["z".to_owned(), "m".to_owned()], true));
        let (second, more) = catalog.tools.page(Some("m"), 2).unwrap();
        assert_eq!((names(second), more), (vec!["b".to_owned()], false));
        assert!(catalog.tools.page(Some("gone"), 2).is_none());
    }

    #[test]
    fn a_uri_belongs_to_the_longest_prefix() {
        let provider =
            |name: &str, prefix: &str| Entry { kind: EntryKind::Provider, prefix: prefix.into(), ..entry(name, "1") };
        let catalog = catalog(vec![node("a", vec![provider("all", "file:///"), provider("docs", "file:///docs/")])]);

        assert_eq!(catalog.provider_of("file:///docs/a").unwrap().entry.name, "docs");
        assert_eq!(catalog.provider_of("file:///other").unwrap().entry.name, "all");
        assert!(catalog.provider_of("http://x").is_none());
    }
}
