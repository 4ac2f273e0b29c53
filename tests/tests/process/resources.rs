//! Files as resources.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use switchyard_tests::{Folder, ModernClient, Revision};

use crate::One;

async fn listed(modern: &ModernClient, name: &str) -> Value {
    let page = modern.request("resources/list", json!({})).await;
    let resources = page.result()["resources"].as_array().unwrap();
    let found = resources.iter().find(|resource| resource["uri"].as_str().unwrap().ends_with(name));
    found.unwrap_or_else(|| panic!("`{name}` is not in {resources:?}")).clone()
}

#[tokio::test]
async fn a_file_is_listed_with_all_that_is_known_of_it() {
    let one = One::start().await;

    let plan = listed(&one.modern(), "/plan.md").await;
    let picture = listed(&one.modern(), "/picture.png").await;

    assert!(plan["uri"].as_str().unwrap().starts_with("file:///"), "{plan}");
    assert_eq!((&plan["mimeType"], &plan["size"]), (&json!("text/markdown"), &json!(43)));
    assert!(plan["annotations"]["lastModified"].as_str().unwrap().ends_with('Z'), "{plan}");
    assert_eq!(picture["mimeType"], "image/png");
}

#[tokio::test]
async fn exact_bytes_come_back() {
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    let text = "línea uno\r\n天気\n\ttab and \"quotes\" \u{1f686}";
    let folder = Folder::sample();
    folder.write("bytes.bin", &every_byte);
    folder.write("text.txt", text);
    let config = folder.config();
    let one = One::with(folder, &config).await;
    let modern = one.modern();
    let legacy = one.legacy(Revision::R1).await;

    for name in ["/bytes.bin", "/text.txt"] {
        let uri = listed(&modern, name).await["uri"].clone();
        let stateless = modern.request("resources/read", json!({"uri": uri})).await.result()["contents"][0].clone();
        let session = legacy.request("resources/read", json!({"uri": uri})).await.result()["contents"][0].clone();

        assert_eq!(stateless["uri"], uri);
        match name {
            "/text.txt" => assert_eq!((&stateless["text"], &session["text"]), (&json!(text), &json!(text))),
            _ => {
                assert_eq!(BASE64_STANDARD.decode(stateless["blob"].as_str().unwrap()).unwrap(), every_byte);
                assert_eq!(stateless["blob"], session["blob"]);
            }
        }
    }
}

#[tokio::test]
async fn what_should_not_be_seen_is_neither_listed_nor_read() {
    let one = One::start().await;
    let modern = one.modern();
    let plan = modern.uri_of("plan.md").await;
    let page = modern.request("resources/list", json!({})).await;

    for hidden in [".env", ".gitignore", "ignored.log"] {
        assert!(!page.message.to_string().contains(hidden), "{hidden} is listed");
        let uri = plan.replace("plan.md", hidden);
        assert_eq!(modern.request("resources/read", json!({"uri": uri})).await.error().code, -32602, "{hidden}");
    }
}

#[tokio::test]
async fn nothing_outside_the_folder_is_reachable() {
    let one = One::start().await;
    let secret = Folder::empty();
    secret.write("secret.txt", "hunter2");
    std::os::unix::fs::symlink(secret.path(), one.folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink(secret.path().join("secret.txt"), one.folder.path().join("link.txt")).unwrap();
    let modern = one.modern();
    let plan = modern.uri_of("plan.md").await;
    let outside = secret.path().join("secret.txt").display().to_string();

    for uri in [
        plan.replace("plan.md", "link.txt"),
        plan.replace("plan.md", "link/secret.txt"),
        plan.replace("plan.md", "../../../../../../etc/passwd"),
        plan.replace("plan.md", "%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd"),
        plan.replace("plan.md", "deep/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd"),
        plan.replace("plan.md", "%00plan.md"),
        format!("file://{outside}"),
        "file:///etc/passwd".to_owned(),
        "http://127.0.0.1/".to_owned(),
        "nonsense".to_owned(),
        String::new(),
    ] {
        let reply = modern.request("resources/read", json!({"uri": uri})).await;

        assert_eq!(reply.error().code, -32602, "{uri}: {}", reply.message);
    }
    let listed = modern.request("resources/list", json!({})).await.message.to_string();
    assert!(!listed.contains("secret.txt") && !listed.contains("/link"), "{listed}");
}

#[tokio::test]
async fn a_resource_that_is_missing_has_a_code_of_its_own_before_the_modern_revision() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let uri = client.uri_of("plan.md").await.replace("plan.md", "missing.md");

        let reply = client.request("resources/read", json!({"uri": uri})).await;

        assert_eq!((reply.refusal(), reply.error().data), ((200, -32002), json!({"uri": uri})), "{revision:?}");
    }
}

#[tokio::test]
async fn each_revision_has_its_own_place_for_what_is_known_of_a_file() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let page = client.request("resources/list", json!({})).await;
        let plan = page.result()["resources"].as_array().unwrap().iter().find(|entry| entry["name"] == "plan.md");
        let plan = plan.unwrap_or_else(|| panic!("{}", page.message));

        assert_eq!(plan.get("title").is_some(), revision >= Revision::R3, "{revision:?} {plan}");
        assert_eq!(plan["annotations"].get("lastModified").is_some(), revision >= Revision::R3, "{revision:?} {plan}");
        assert!(plan["size"].is_u64(), "{revision:?} {plan}");
    }
}

#[tokio::test]
async fn the_template_names_the_files() {
    let one = One::start().await;

    let modern = one.modern().request("resources/templates/list", json!({})).await;
    let legacy = one.legacy(Revision::R1).await.request("resources/templates/list", json!({})).await;

    assert_eq!(modern.result()["resourceTemplates"][0]["uriTemplate"], "file:///{+path}");
    assert_eq!(legacy.result()["resourceTemplates"][0]["uriTemplate"], "file:///{+path}");
}

#[tokio::test]
async fn a_file_above_the_limit_is_listed_and_reading_it_names_the_limit() {
    let folder = Folder::sample();
    folder.write("large.bin", vec![7; 2000]);
    let mut config = folder.config();
    config["resources"][0]["maxReadBytes"] = json!(1000);
    let one = One::with(folder, &config).await;
    let modern = one.modern();

    let large = listed(&modern, "/large.bin").await;
    let reply = modern.request("resources/read", json!({"uri": large["uri"]})).await;

    assert_eq!(large["size"], 2000);
    assert!(reply.error().message.contains("1000"), "{}", reply.message);
}
