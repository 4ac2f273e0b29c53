//! Requests that describe themselves, and the handshake of those that do not: the first fault decides, and what is
//! right passes with all that it says.

use std::borrow::Cow;

use proptest::{option, prelude::*, sample};
use serde_json::{Map, Value, json};
use switchyard_mcp::{Headers, LATEST_LEGACY, Message, Revision, RpcError, jsonrpc::decode, legacy, modern};

use crate::{
    config,
    shapes::{any_json, any_object, name, text, uri},
};

const MODERN: &str = "2026-07-28";

/// A request, and the headers that came with it.
#[derive(Clone, Debug)]
struct Sent {
    method: String,
    name: String,
    /// `_meta`'s version and capabilities.
    version: Option<Value>,
    capabilities: Option<Value>,
    extra: Value,
    header_version: Option<String>,
    header_method: Option<String>,
    header_name: Option<String>,
}

fn sent() -> impl Strategy<Value = Sent> {
    let methods =
        vec!["tools/call", "resources/read", "prompts/get", "tools/list", "server/discover", "ping", "nobody/knows"];
    // What agrees with the body mostly, else something of its own, or nothing.
    let other = || option::weighted(0.5, prop_oneof![Just("v999".to_owned()), name()]);
    let keeps = || prop::bool::weighted(0.85);
    let version = prop_oneof![
        6 => Just(Some(json!(MODERN))),
        1 => sample::select(vec![Some(json!("2025-11-25")), Some(json!("v999")), Some(json!(7)), None]),
    ];
    let capabilities = prop_oneof![6 => any_object().prop_map(Some), 1 => any_json().prop_map(Some), 1 => Just(None)];
    (
        (sample::select(methods), prop_oneof![name(), uri(), text()], version, capabilities, any_object()),
        (keeps(), other(), keeps(), other(), keeps(), other()),
    )
        .prop_map(|((method, name, version, capabilities, extra), (v, other_v, m, other_m, n, other_n))| Sent {
            header_version: if v { version.as_ref().and_then(Value::as_str).map(str::to_owned) } else { other_v },
            header_method: if m { Some(method.to_owned()) } else { other_m },
            header_name: if n { Some(switchyard_mcp::headers::encoded(&name).into_owned()) } else { other_n },
            method: method.to_owned(),
            name,
            version,
            capabilities,
            extra,
        })
}

impl Sent {
    fn body(&self) -> String {
        let mut meta = Map::new();
        meta.insert("com.example/extra".into(), self.extra.clone());
        if let Some(version) = &self.version {
            meta.insert("io.modelcontextprotocol/protocolVersion".into(), version.clone());
        }
        if let Some(capabilities) = &self.capabilities {
            meta.insert("io.modelcontextprotocol/clientCapabilities".into(), capabilities.clone());
        }
        let key = if self.method == "resources/read" { "uri" } else { "name" };
        let params = json!({ "_meta": meta, key: self.name, "unknown": self.extra });
        json!({ "jsonrpc": "2.0", "id": 1, "method": self.method, "params": params }).to_string()
    }

    /// The status and code of the first fault, by the order of the protocol.
    fn fault(&self) -> Option<(u16, i32)> {
        let mismatch = Some((400, RpcError::HEADER_MISMATCH));
        let Some(header_version) = &self.header_version else { return mismatch };
        let (Some(Value::String(version)), Some(Value::Object(_))) = (&self.version, &self.capabilities) else {
            return Some((400, RpcError::INVALID_PARAMS));
        };
        if header_version != version {
            return mismatch;
        }
        if version != MODERN {
            return Some((400, RpcError::UNSUPPORTED_VERSION));
        }
        let is_named = matches!(self.method.as_str(), "tools/call" | "resources/read" | "prompts/get");
        let names = |header: &String| {
            switchyard_mcp::headers::decoded(header.as_bytes()) == Some(Cow::Borrowed(self.name.as_bytes()))
        };
        if self.header_method.as_ref() != Some(&self.method)
            || (is_named && !self.header_name.as_ref().is_some_and(names))
        {
            return mismatch;
        }
        matches!(self.method.as_str(), "ping" | "nobody/knows").then_some((404, RpcError::METHOD_NOT_FOUND))
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_first_fault_decides_and_what_has_none_passes_whole(sent in sent()) {
        let body = sent.body();
        let Ok(Message::Request(request)) = decode(body.as_bytes()) else { panic!("a request: {body}") };
        let bytes = |header: &'_ Option<String>| header.clone().map(String::into_bytes);
        let (version, method, name) = (bytes(&sent.header_version), bytes(&sent.header_method), bytes(&sent.header_name));
        let headers = Headers { version: version.as_deref(), method: method.as_deref(), name: name.as_deref() };

        match modern::check(&request, Some(&headers)) {
            Err(refusal) => prop_assert_eq!(Some((refusal.status, refusal.error.code)), sent.fault(), "{}", body),
            Ok(checked) => {
                prop_assert_eq!(None, sent.fault(), "{}", body);
                prop_assert_eq!(checked.method.name(), &sent.method);
                prop_assert_eq!(Some(checked.capabilities.to_owned()), sent.capabilities.map(|sent| sent.to_string()));
            }
        }
    }

    #[test]
    fn whatever_a_header_says_it_is_compared_and_not_stumbled_over(sent in sent(), bytes in any::<[Vec<u8>; 3]>()) {
        let body = sent.body();
        let Ok(Message::Request(request)) = decode(body.as_bytes()) else { panic!("a request: {body}") };
        let [version, method, name] = &bytes;
        let headers = Headers { version: Some(version), method: Some(method), name: Some(name) };

        prop_assert!(modern::check(&request, Some(&headers)).is_err());
    }

    #[test]
    fn a_handshake_agrees_to_what_is_spoken_and_offers_the_newest_else(
        version in prop_oneof![
            sample::select(Revision::ALL.to_vec()).prop_map(|revision| json!(revision.name())),
            any_json(),
        ],
        capabilities in prop_oneof![4 => any_object(), 1 => any_json()],
        info in prop_oneof![
            4 => (text(), text()).prop_map(|(name, version)| json!({ "name": name, "version": version })),
            1 => any_json(),
        ],
        more in any_json(),
    ) {
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info, "more": more });
        let raw = serde_json::value::to_raw_value(&params).unwrap();
        let is_right = version.is_string() && capabilities.is_object() && info["name"].is_string() && info["version"].is_string();

        match legacy::read_handshake(Some(&raw)) {
            Err(error) => prop_assert_eq!((error.code, is_right), (RpcError::INVALID_PARAMS, false), "{}", params),
            Ok(handshake) => {
                let asked = version.as_str().and_then(Revision::named).filter(|asked| asked.has_sessions());
                prop_assert!(is_right, "{}", params);
                prop_assert_eq!(handshake.revision, asked.unwrap_or(LATEST_LEGACY));
                prop_assert_eq!(handshake.capabilities, capabilities.to_string());
                prop_assert!(!handshake.client.contains(char::is_control));
            }
        }
    }
}
