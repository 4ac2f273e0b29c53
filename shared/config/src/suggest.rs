//! What somebody may have meant.

use crate::KeyPath;

/// How alike two words must be, from 0 to 1, for one to be taken for the other.
const ALIKE: f64 = 0.8;

/// The candidate that is most like `word`, when one is like it at all. Case, `_` and `-` do not count.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    most_like(word, candidates).filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, candidate)| candidate)
}

/// The candidate that is most like `word`, however little that is, and how much.
pub(crate) fn most_like<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<(f64, &'a str)> {
    let word = letters(word);
    let rated = candidates.map(|candidate| (strsim::jaro_winkler(&word, &letters(candidate)), candidate));
    rated.reduce(|best, next| if next.0 > best.0 { next } else { best })
}

/// The option that the unknown key at `path` should have been: a key of the same section (`siblings`), or one of
/// that very name in another section (`options` are all of them); an item of a list has its keys to itself.
pub(crate) fn key(path: &KeyPath, siblings: &[&str], options: &[KeyPath]) -> Option<KeyPath> {
    let word = path.last_key()?;
    let section = path.parent()?;
    let same = |candidate: &str| letters(candidate) == letters(word);
    if let Some(sibling) = siblings.iter().find(|sibling| same(sibling)) {
        return Some(section.key(sibling));
    }
    let elsewhere = options.iter().find(|option| option.last_key().is_some_and(same));
    if let Some(elsewhere) = elsewhere.filter(|_| !path.is_in_list()) {
        return Some(elsewhere.clone());
    }
    nearest(word, siblings.iter().copied()).map(|sibling| section.key(sibling))
}

fn letters(word: &str) -> String {
    word.chars().filter(|letter| !matches!(letter, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_key_and_a_foreign_word_finds_none() {
        let keys = ["host", "port", "sslEnabled", "maxBodyBytes"];
        for (word, expected) in [
            ("prot", Some("port")),
            ("hots", Some("host")),
            ("Port", Some("port")),
            ("ssl_enabled", Some("sslEnabled")),
            ("sslenable", Some("sslEnabled")),
            ("max-body-byte", Some("maxBodyBytes")),
            ("maxBody", Some("maxBodyBytes")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, keys.into_iter()), expected, "{word}");
        }
    }

    #[test]
    fn a_key_of_another_section_is_found_there() {
        let options = [KeyPath::of_keys("server"), KeyPath::of_keys("server.port"), KeyPath::of_keys("prompts")];

        let in_section = key(&KeyPath::of_keys("port"), &["server", "prompts"], &options);
        let in_list = key(&KeyPath::of_keys("tools").item(0).key("port"), &["name"], &options);

        assert_eq!(in_section, Some(KeyPath::of_keys("server.port")));
        assert_eq!(in_list, None);
    }
}
