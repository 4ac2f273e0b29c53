//! The decoder of both eras: what is no message is refused in the defined way, and what is one means the same when it is
//! written again.

use serde_json::{Value, value::RawValue};
use switchyard_mcp::{
    Id, LATEST_LEGACY, Message, Method, Params, Refusal, Request, Revision, RpcError,
    jsonrpc::{self, DecodeError},
    legacy,
    meta::Meta,
    modern,
    notifications::{self, Filter},
    questions,
};

/// The longest sentence of an error, in bytes: it may hold 100 characters of what the client said.
const LONGEST_SENTENCE: usize = 700;

/// Bytes that are a message.
///
/// # Panics
/// When they are taken for what they are not, or refused with something else than the defined error.
pub fn decoder(data: &[u8]) {
    assert!(questions::answered(data).is_object());
    let text = std::str::from_utf8(data).ok().filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
    match jsonrpc::decode(data) {
        Ok(message) => {
            let text = text.expect("a message is JSON");
            assert!(text.trim_start().starts_with('{'));
            match message {
                Message::Request(request) => is_request(&request),
                Message::Notification { method, params } => is_notification(&method, params),
                Message::Response { id } => is_id(&id),
            }
        }
        Err(DecodeError::Batch) => {
            let text = text.expect("a batch is JSON");
            assert!(text.trim_start().starts_with('['));
        }
        Err(DecodeError::Invalid { id, error }) => {
            is_error(&error, &[RpcError::PARSE, RpcError::INVALID_REQUEST]);
            assert_eq!(error.code == RpcError::PARSE, text.is_none(), "{error:?}");
            if let Some(id) = id {
                is_id(&id);
                assert!(text.expect("an id was read").contains(id.as_json()));
            }
        }
    }
}

fn is_id(id: &Id) {
    let json: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
    let is_integer = id.as_json().trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    assert!(json.is_string() || is_integer, "{id}");
    assert_eq!(Id::from_json(id.as_json()).as_ref(), Some(id));
    let answer = jsonrpc::success(id, "{}");
    assert!(matches!(jsonrpc::decode(answer.as_bytes()), Ok(Message::Response { id: answered }) if answered == *id));
}

fn is_error(error: &RpcError, codes: &[i32]) {
    assert!(codes.contains(&error.code), "{error:?}");
    assert!(!error.message.is_empty() && error.message.len() <= LONGEST_SENTENCE, "{error:?}");
    let written: Value = serde_json::from_str(&jsonrpc::failure(None, true, error)).expect("an error is JSON");
    assert_eq!(written["error"]["code"], error.code);
    assert_eq!(written["error"]["message"], *error.message);
}

fn is_refusal(refusal: &Refusal) {
    let not_found = refusal.error.code == RpcError::METHOD_NOT_FOUND;
    assert_eq!(refusal.status, if not_found { 404 } else { 400 });
    is_error(
        &refusal.error,
        &[
            RpcError::METHOD_NOT_FOUND,
            RpcError::INVALID_PARAMS,
            RpcError::HEADER_MISMATCH,
            RpcError::UNSUPPORTED_VERSION,
        ],
    );
}

fn is_request(request: &Request<'_>) {
    is_id(&request.id);
    let again = written(Some(&request.id), &request.method, request.params);
    let Ok(Message::Request(read)) = jsonrpc::decode(again.as_bytes()) else { panic!("{again} is a request") };
    assert_eq!((&read.id, &read.method), (&request.id, &request.method));
    assert_eq!(read.params.map(RawValue::get), request.params.map(RawValue::get));

    have_params(request.params);
    match modern::check(request, None) {
        Ok(checked) => {
            assert_eq!(checked.method.name(), request.method);
            assert!(checked.method.exists_in(checked.revision) && !checked.revision.has_sessions());
            assert_eq!(checked.meta.protocol_version().as_deref(), Some(checked.revision.name()));
            assert!(is_object(checked.capabilities));
        }
        Err(refusal) => is_refusal(&refusal),
    }
}

fn is_notification(method: &str, params: Option<&RawValue>) {
    let again = jsonrpc::notification(method, params.map(RawValue::get));
    let Ok(Message::Notification { method: read, params: with }) = jsonrpc::decode(again.as_bytes()) else {
        panic!("{again} is a notification")
    };
    assert_eq!((&*read, with.map(RawValue::get)), (method, params.map(RawValue::get)));
    have_params(params);
}

fn written(id: Option<&Id>, method: &str, params: Option<&RawValue>) -> String {
    let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
    let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0",{id}"method":{}{params}}}"#, Value::from(method))
}

/// Everything that anybody asks of parameters.
fn have_params(raw: Option<&RawValue>) {
    let params = match Params::read(raw) {
        Ok(params) => params,
        Err(error) => return is_error(&error, &[RpcError::INVALID_PARAMS]),
    };
    is_handshake(raw);
    describe_themselves(&Meta::read(params.meta));
    for method in Method::ALL {
        asked(params.name_for(method));
    }
    asked(params.uri());
    asked(params.cursor());
    asked(params.request_state());
    asked(params.level());
    assert!(asked(params.arguments()).is_none_or(is_object));
    assert!(asked(params.input_responses()).flatten().is_none_or(is_object));
    asked(params.completion());
    _ = params.reason();
    if let Some(filter) = asked(Filter::read(params.notifications)) {
        is_message(&notifications::acknowledged("1", &filter));
        for uri in &filter.uris {
            is_message(&notifications::resource_updated(uri, Some("\"s\"")));
        }
    }
}

/// The answer; a refusal is one for wrong parameters.
fn asked<T>(answer: Result<T, RpcError>) -> Option<T> {
    answer.inspect_err(|error| is_error(error, &[RpcError::INVALID_PARAMS])).ok()
}

fn describe_themselves(meta: &Meta<'_>) {
    let known = asked(meta.log_level()).flatten();
    assert!(known.is_none_or(|level| switchyard_mcp::meta::is_loud_enough(level, level)));
    assert!(meta.client_capabilities().is_none_or(is_object));
    assert!(meta.protocol_version().is_none() || meta.is_modern());
    _ = meta.trace();
    if let Some(token) = asked(meta.progress_token()).flatten() {
        for revision in Revision::ALL {
            is_message(&notifications::progress(token, &Default::default(), revision));
        }
    }
}

fn is_handshake(params: Option<&RawValue>) {
    let Some(handshake) = asked(legacy::read_handshake(params)) else { return };
    assert!(handshake.revision.has_sessions());
    assert!(is_object(handshake.capabilities) && handshake.capabilities.len() <= 64 * 1024);
    assert!(handshake.client.chars().count() <= 141 && !handshake.client.contains(char::is_control));
    let result: Value = serde_json::from_str(&legacy::initialize_result(handshake.revision, &handshake.client))
        .expect("a result is JSON");
    let revision = result["protocolVersion"].as_str().and_then(Revision::named);
    assert!(revision == Some(handshake.revision) && revision <= Some(LATEST_LEGACY));
}

fn is_message(json: &str) {
    assert!(matches!(jsonrpc::decode(json.as_bytes()), Ok(Message::Notification { .. })), "{json}");
}

fn is_object(json: &str) -> bool {
    json.starts_with('{') && serde_json::from_str::<&RawValue>(json).is_ok()
}
