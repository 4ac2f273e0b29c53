//! Results of every form, as each revision gets them.

use proptest::{collection, option, prelude::*};
use serde_json::Value;
use switchyard_mcp::{CacheScope, Id, Method, Revision, RpcError, jsonrpc, legacy, results};
use switchyard_proto::v1::{
    CompleteReply, PromptResult, ResourceContents, ResourceResult, ToolResult, resource_contents::Body,
};

use crate::{
    config,
    contents::{blocks, messages},
    judged, judged_result,
    shapes::{any_json, media_type, meta, text, uri},
};

fn bytes(json: Option<Value>) -> Vec<u8> {
    json.map(|json| json.to_string().into_bytes()).unwrap_or_default()
}

fn tool_result() -> impl Strategy<Value = ToolResult> {
    (blocks(), option::of(any_json()), any::<bool>(), option::of(meta())).prop_map(
        |(content, output, is_error, meta)| ToolResult {
            content_json: bytes(Some(content)).into(),
            structured_content_json: bytes(output).into(),
            is_error,
            meta_json: bytes(meta).into(),
        },
    )
}

fn contents() -> impl Strategy<Value = ResourceContents> {
    let body = prop_oneof![
        text().prop_map(Body::Text),
        collection::vec(any::<u8>(), 0..20).prop_map(|bytes| Body::Blob(bytes.into())),
    ];
    let mime_type = prop_oneof![Just(String::new()), media_type()];
    (uri(), mime_type, option::of(body), option::of(meta())).prop_map(|(uri, mime_type, body, meta)| ResourceContents {
        uri,
        mime_type,
        body,
        meta_json: bytes(meta).into(),
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_a_tool_says_reaches_each_revision_as_it_can_hold_it(said in tool_result()) {
        for revision in Revision::ALL {
            let result = results::tool(&said, revision);
            judged_result(revision, "tools/call", &result)?;

            let result: Value = serde_json::from_str(&result).unwrap();
            let sent: Value = serde_json::from_slice(&said.content_json).unwrap();
            let (got, sent) = (result["content"].as_array().unwrap(), sent.as_array().unwrap());
            prop_assert_eq!(got.len(), sent.len(), "no block is dropped");
            prop_assert_eq!(&result["isError"], said.is_error);
            if revision == Revision::V2026_07_28 {
                prop_assert_eq!(got, sent);
            }
        }
    }

    #[test]
    fn what_a_resource_holds_reaches_each_revision(contents in collection::vec(contents(), 0..3), public in any::<bool>()) {
        let scope = if public { CacheScope::Public } else { CacheScope::Private };
        let read = ResourceResult { contents };
        for revision in Revision::ALL {
            judged_result(revision, "resources/read", &results::resource(&read, scope, revision))?;
        }
    }

    #[test]
    fn a_prompt_reaches_each_revision_as_it_can_hold_it(messages in messages(), description in text()) {
        let rendered = PromptResult { description, messages_json: bytes(Some(messages)).into() };
        for revision in Revision::ALL {
            judged_result(revision, "prompts/get", &results::prompt(&rendered, revision))?;
        }
    }

    #[test]
    fn proposals_reach_each_revision(
        values in collection::vec("[a-z]{0,3}", 0..120),
        total in option::of(any::<u32>()),
        has_more in any::<bool>(),
    ) {
        let proposed = CompleteReply { values, total, has_more };
        for revision in Revision::ALL {
            judged_result(revision, "completion/complete", &results::completion(&proposed, revision))?;
        }
    }

    #[test]
    fn a_server_introduces_itself_in_the_words_of_each_revision(instructions in text(), message in text()) {
        for revision in Revision::ALL {
            if revision.has_sessions() {
                judged_result(revision, "initialize", &legacy::initialize_result(revision, &instructions))?;
                judged_result(revision, "ping", &results::empty(revision))?;
            } else {
                let discovered = results::discover(revision, &instructions, CacheScope::Public);
                judged_result(revision, "server/discover", &discovered)?;
                judged_result(revision, "subscriptions/listen", &results::listen_ended("7", revision))?;
            }
            judged_result(revision, "tools/call", &results::tool_failure(&message, revision))?;
        }
    }

    #[test]
    fn an_error_is_one_in_each_revision(
        code in proptest::sample::select(vec![
            RpcError::PARSE, RpcError::INVALID_REQUEST, RpcError::METHOD_NOT_FOUND, RpcError::INVALID_PARAMS,
            RpcError::INTERNAL,
        ]),
        message in text(),
        data in option::of(any_json()),
        id in option::of(prop_oneof![Just("7"), Just("\"7\""), Just("-1")]),
    ) {
        for revision in Revision::ALL {
            // Only what could not be read has no id.
            let unreadable = matches!(code, RpcError::PARSE | RpcError::INVALID_REQUEST);
            let id = id.or((!unreadable).then_some("0")).map(|id| Id::from_json(id).unwrap());
            let error = RpcError { code, message: message.clone().into(), data: data.clone() };
            judged(revision, None, &jsonrpc::failure(id.as_ref(), !revision.omits_unknown_id(), &error))?;
        }
    }

    #[test]
    fn what_does_not_exist_is_an_error_of_each_revision(uri in text(), method in text()) {
        let id = Id::from_json("1");
        for revision in Revision::ALL {
            for error in [RpcError::resource_not_found(&uri, revision), RpcError::method_not_found(&method)] {
                judged(revision, None, &jsonrpc::failure(id.as_ref(), false, &error))?;
            }
        }
        let unsupported = switchyard_mcp::Refusal::unsupported_version(&method);
        judged(Revision::V2026_07_28, None, &jsonrpc::failure(id.as_ref(), false, &unsupported.error))?;
    }

    #[test]
    fn an_input_is_asked_for_by_result(state in text()) {
        for method in [Method::ToolsCall, Method::PromptsGet, Method::ResourcesRead] {
            let asked = results::input_required("", &state, Revision::V2026_07_28);
            judged_result(Revision::V2026_07_28, method.name(), &asked)?;
        }
    }
}
