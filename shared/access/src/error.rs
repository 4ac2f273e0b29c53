//! Why a request is refused at the door, or an option cannot say who may pass it.

/// Why somebody may not speak to this server, or an option does not say who may.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// A web page that is not allowed, or no page at all, sent the request.
    #[error("the `Origin` of this request may not connect, see the option `allowedOrigins`")]
    Origin,

    /// The request was sent to a name that is not ours.
    #[error("the `Host` of this request is not served, see the option `allowedHosts`")]
    Host,

    /// An entry of `allowedOrigins` is no origin.
    #[error(
        "`{entry}` is no origin: write scheme and host, such as `https://app.example.com` or `http://localhost:*`, \
         or `*` for any"
    )]
    NoOrigin {
        /// The entry.
        entry: String,
    },

    /// An entry of `allowedHosts` is no host.
    #[error("`{entry}` is no host: write a name or address, such as `mcp.example.com` or `[::1]:3000`, or `*` for any")]
    NoHost {
        /// The entry.
        entry: String,
    },
}
