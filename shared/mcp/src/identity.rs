//! Who this server says it is.

/// Its name on the wire.
pub const NAME: &str = "switchyard";

/// Its name for people.
pub const TITLE: &str = "Switchyard";

/// Its version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `serverInfo` for clients that know titles, or not.
pub(crate) fn server_info(has_titles: bool) -> String {
    let title = if has_titles { format!(r#","title":"{TITLE}""#) } else { String::new() };
    format!(r#"{{"name":"{NAME}"{title},"version":"{VERSION}"}}"#)
}

/// The member of every stateless result's `_meta` that names the server.
pub(crate) fn meta_member() -> &'static str {
    static MEMBER: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| format!(r#""io.modelcontextprotocol/serverInfo":{}"#, server_info(true)));
    &MEMBER
}
