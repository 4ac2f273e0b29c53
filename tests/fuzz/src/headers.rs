//! The headers that repeat a body: nothing passes that does not repeat it, and all that does passes.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use switchyard_mcp::{
    Headers, Message, Params, Request, RpcError,
    era::{Era, classify},
    header_params::HeaderParam,
    headers::{decoded, encoded},
    jsonrpc,
    meta::Meta,
    modern::{self, ModernRequest},
};

/// Four lines, each what a header says or `!` where it is missing (the version, the method, the name, an argument), and
/// then a body: a message, or a tool's definition with `arguments` beside it.
///
/// # Panics
/// When a header passes that does not say what the body does, or one that does is refused.
pub fn headers(data: &[u8]) {
    let mut parts = data.splitn(5, |byte| *byte == b'\n');
    let mut header = || parts.next().filter(|value| *value != b"!");
    let headers = Headers { version: header(), method: header(), name: header() };
    let argument = header();
    let body = parts.next().unwrap_or_default();

    for value in [headers.version, headers.method, headers.name, argument].into_iter().flatten() {
        a_value(value);
    }
    if let Ok(Message::Request(request)) = jsonrpc::decode(body) {
        a_request(&request, &headers);
    }
    a_tool(body, argument);
}

fn a_value(value: &[u8]) {
    let trimmed = value.trim_ascii();
    let inside = trimmed.strip_prefix(b"=?base64?").and_then(|rest| rest.strip_suffix(b"?="));
    match (decoded(value), inside) {
        (Some(says), None) => assert_eq!(says, trimmed),
        (Some(says), Some(inside)) => assert_eq!(STANDARD.encode(says).as_bytes(), inside, "there is one form of it"),
        (None, inside) => assert!(inside.is_some()),
    }
    let text = String::from_utf8_lossy(value);
    let header = encoded(&text);
    assert!(header.bytes().all(|byte| matches!(byte, b' '..=b'~')), "`{header}` is no header");
    assert_eq!(decoded(header.as_bytes()).as_deref(), Some(text.as_bytes()));
}

fn a_request(request: &Request<'_>, headers: &Headers<'_>) {
    let meta = Meta::read(Params::read(request.params).unwrap_or_default().meta);
    for names_session in [true, false] {
        let era = classify(Some(&request.method), &meta, headers, names_session);
        assert!(!meta.is_modern() || era == Ok(Era::Modern));
        assert!(if names_session { era.is_ok() } else { era != Ok(Era::Session) });
    }
    match (modern::check(request, None), modern::check(request, Some(headers))) {
        (Ok(checked), Ok(_)) => {
            repeats(&checked, headers);
            only_what_repeats_it_passes(request, &checked);
        }
        (Ok(checked), Err(refusal)) => {
            assert_eq!((refusal.status, refusal.error.code), (400, RpcError::HEADER_MISMATCH));
            only_what_repeats_it_passes(request, &checked);
        }
        (Err(_), with) => assert!(with.is_err(), "headers do not mend a body"),
    }
}

fn repeats(checked: &ModernRequest<'_>, headers: &Headers<'_>) {
    assert_eq!(headers.version.map(<[u8]>::trim_ascii), Some(checked.revision.name().as_bytes()));
    assert_eq!(headers.method.map(<[u8]>::trim_ascii), Some(checked.method.name().as_bytes()));
    if let Some(name) = name(checked) {
        let says = headers.name.and_then(decoded).map(Cow::into_owned);
        assert_eq!(says.as_deref(), Some(name.as_bytes()));
    }
}

fn name<'a>(checked: &ModernRequest<'a>) -> Option<Cow<'a, str>> {
    checked.method.named_by()?;
    checked.params.name_for(checked.method).ok()
}

fn only_what_repeats_it_passes(request: &Request<'_>, checked: &ModernRequest<'_>) {
    let name = name(checked);
    let (version, method) = (format!("{} ", checked.revision), format!("\t{}", checked.method.name()));
    let header = name.as_deref().map(|name| format!(" {} ", encoded(name)));
    let in_base64 = name.as_deref().map(|name| format!("=?base64?{}?=", STANDARD.encode(name)));
    let longer = name.as_deref().map(|name| encoded(&format!("{name}x")).into_owned());
    let bytes = |text: &'_ Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
    let passes = |version: Option<&str>, method: Option<&str>, name: Option<Vec<u8>>| {
        let headers =
            Headers { version: version.map(str::as_bytes), method: method.map(str::as_bytes), name: name.as_deref() };
        modern::check(request, Some(&headers)).map(|_| ()).map_err(|refusal| refusal.error.code)
    };
    let (version, method) = (version.as_str(), method.as_str());

    assert_eq!(passes(Some(version), Some(method), bytes(&header)), Ok(()));
    assert_eq!(passes(Some(version), Some(method), bytes(&in_base64)), Ok(()));
    let mismatch = Err(RpcError::HEADER_MISMATCH);
    assert_eq!(passes(None, Some(method), bytes(&header)), mismatch);
    assert_eq!(passes(Some("2025-11-25"), Some(method), bytes(&header)), mismatch);
    assert_eq!(passes(Some(version), None, bytes(&header)), mismatch);
    assert_eq!(passes(Some(version), Some("ping"), bytes(&header)), mismatch);
    if name.is_some() {
        assert_eq!(passes(Some(version), Some(method), None), mismatch);
        assert_eq!(passes(Some(version), Some(method), bytes(&longer)), mismatch);
    }
}

fn a_tool(body: &[u8], header: Option<&[u8]>) {
    let Ok(definition) = std::str::from_utf8(body) else { return };
    let body: Value = serde_json::from_str(definition).unwrap_or_default();
    let arguments = &body["arguments"];
    for param in HeaderParam::of_tool(definition) {
        let verdict = param.check(arguments, header);
        assert!(verdict.as_ref().err().is_none_or(|error| error.code == RpcError::HEADER_MISMATCH));
        // What a client that speaks to a pipe says passes, and nothing else that is a whole number.
        let Some(said) = param.text(arguments) else { continue };
        let says = header.and_then(decoded);
        let says = says.as_deref().and_then(|says| std::str::from_utf8(says).ok());
        let whole = |text: &str| text.parse::<i128>().ok();
        if let (Ok(()), Some(says)) = (verdict, says)
            && let (Some(one), Some(other)) = (whole(says), whole(&said))
        {
            assert_eq!(one, other);
        }
        assert_eq!(param.check(arguments, Some(encoded(&said).as_bytes())), Ok(()));
        assert!(param.check(arguments, None).is_err(), "the header is missing");
        assert!(param.check(&Value::Null, Some(said.as_bytes())).is_err(), "the argument is missing");
    }
}
