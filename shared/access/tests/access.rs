//! Who passes the door, by every trick that headers allow.
#![allow(clippy::unwrap_used)]

use std::net::IpAddr;

use switchyard_access::{Access, AccessError, AllowedHost, AllowedOrigin, Principal};

fn access(origins: &[&str], hosts: &[&str], bound: &str) -> Access {
    let origins: Vec<AllowedOrigin> = origins.iter().map(|entry| entry.parse().unwrap()).collect();
    let hosts: Vec<AllowedHost> = hosts.iter().map(|entry| entry.parse().unwrap()).collect();
    Access::new(&origins, &hosts, bound.parse::<IpAddr>().unwrap())
}

/// Texts that are neither origins of this machine nor of anybody trusted, however they are read.
const HOSTILE_ORIGINS: [&str; 52] = [
    "",
    " ",
    "null",
    "NULL",
    "https://evil.example",
    "http://evil.example:3000",
    "localhost",
    "localhost:3000",
    "//localhost",
    "://localhost",
    "http:localhost",
    "http:/localhost",
    "http://",
    "http://:3000",
    "http://localhost/",
    "http://localhost/path",
    "http://localhost?",
    "http://localhost#",
    "http://localhost\\",
    "http://localhost\\@evil.example",
    "http://localhost@evil.example",
    "http://evil.example@localhost",
    "http://localhost:3000@evil.example",
    "http://user:pass@localhost",
    "http://localhost.evil.example",
    "http://evil-localhost",
    "http://localhost%2eevil.example",
    "http://localhost%00.evil.example",
    "http://localhost\0",
    "http://localhost evil",
    "http://localhost,http://evil.example",
    "http://localhost:",
    "http://localhost:+80",
    "http://localhost:-1",
    "http://localhost:65536",
    "http://localhost:000080",
    "http://localhost:80:80",
    "http://localhost:*",
    "http://*",
    "http://localhost..",
    "http://.localhost",
    "http://sub.localhost",
    "http://127.0.0.1.evil.example",
    "http://127.1",
    "http://2130706433",
    "http://0x7f000001",
    "http://0x7f.0.0.1",
    "http://0177.0.0.1",
    "http://0.0.0.0:3000",
    "http://[::]:3000",
    "http://[::ffff:127.0.0.1]",
    "http://[::1%25eth0]",
];

#[test]
fn by_default_only_pages_of_this_machine_and_programs_without_a_page_connect() {
    let access = access(&[], &[], "127.0.0.1");
    for origin in [
        None,
        Some("http://localhost"),
        Some("https://localhost:8443"),
        Some("http://LOCALHOST:5173"),
        Some("HTTP://localhost"),
        Some("http://localhost.:3000"),
        Some("http://127.0.0.1:3000"),
        Some("http://127.8.9.10"),
        Some("http://127.0.0.1."),
        Some("https://[::1]:3000"),
        Some("http://[0:0:0:0:0:0:0:1]"),
    ] {
        assert_eq!(access.check_origin(origin), Ok(()), "{origin:?}");
    }
}

#[test]
fn what_is_no_origin_or_a_foreign_one_is_refused_wherever_we_listen() {
    for bound in ["127.0.0.1", "::1", "0.0.0.0", "::", "192.168.1.5"] {
        let access = access(&["https://app.example.com"], &["mcp.example.com"], bound);
        for origin in HOSTILE_ORIGINS {
            assert_eq!(access.check_origin(Some(origin)), Err(AccessError::Origin), "{origin:?} at {bound}");
        }
        for origin in [
            "http://[::1",
            "http://::1",
            "http://[::1]evil",
            "http://[localhost]",
            "file://localhost",
            "file://",
            "javascript://localhost",
            "chrome-extension://localhost",
            "http://lоcalhost",
            "http://ｌocalhost",
            "http://localhost\u{200b}",
            "1http://localhost",
            "ht tp://localhost",
        ] {
            assert_eq!(access.check_origin(Some(origin)), Err(AccessError::Origin), "{origin:?} at {bound}");
        }
        let long = format!("http://{}localhost", "a.".repeat(200));
        assert_eq!(access.check_origin(Some(&long)), Err(AccessError::Origin));
    }
}

#[test]
fn configured_origins_are_compared_by_scheme_host_and_port() {
    for (allowed, origin, passes) in [
        ("https://app.example.com", "https://app.example.com", true),
        ("https://app.example.com", "https://APP.example.com.", true),
        ("https://app.example.com", "https://app.example.com:443", true),
        ("https://app.example.com", "https://app.example.com:8443", false),
        ("https://app.example.com", "http://app.example.com", false),
        ("https://app.example.com", "https://app.example.com.evil.example", false),
        ("https://app.example.com", "https://evil.app.example.com", false),
        ("https://app.example.com/", "https://app.example.com", true),
        ("https://app.example.com:8443", "https://app.example.com:8443", true),
        ("https://app.example.com:8443", "https://app.example.com", false),
        ("http://App.Example.Com:*", "http://app.example.com:1", true),
        ("http://app.example.com:*", "http://app.example.com", true),
        ("http://app.example.com:*", "https://app.example.com", false),
        ("https://bücher.example", "https://xn--bcher-kva.example", true),
        ("https://xn--bcher-kva.example", "https://XN--BCHER-KVA.example", true),
        ("https://bücher.example", "https://bucher.example", false),
        ("https://192.168.1.5", "https://192.168.1.5", true),
        ("https://192.168.1.5", "https://192.168.1.50", false),
        ("http://[2001:db8::1]:8080", "http://[2001:DB8:0::1]:8080", true),
        ("vscode-webview://1a2b-3c", "vscode-webview://1a2b-3c", true),
        ("vscode-webview://1a2b-3c", "vscode-webview://1a2b-3d", false),
        ("*", "https://evil.example", true),
        ("*", "null", true),
    ] {
        let access = access(&[allowed], &[], "127.0.0.1");
        assert_eq!(access.check_origin(Some(origin)).is_ok(), passes, "{allowed} and {origin}");
        assert_eq!(access.check_origin(Some("http://localhost:1")), Ok(()));
    }
}

#[test]
fn pages_of_our_own_hosts_connect_over_http_and_https_alone() {
    let access = access(&[], &["mcp.example.com", "other.example.com:8443"], "192.168.1.5");
    for (origin, passes) in [
        ("https://mcp.example.com", true),
        ("http://mcp.example.com:3000", true),
        ("https://other.example.com:8443", true),
        ("https://other.example.com", false),
        ("http://192.168.1.5:3000", true),
        ("http://192.168.1.6:3000", false),
        ("app://mcp.example.com", false),
    ] {
        assert_eq!(access.check_origin(Some(origin)).is_ok(), passes, "{origin}");
    }
}

#[test]
fn while_we_listen_on_this_machine_alone_no_foreign_name_reaches_us() {
    for bound in ["127.0.0.1", "127.0.0.5", "::1", "::ffff:127.0.0.1"] {
        let access = access(&[], &[], bound);
        for host in ["localhost", "LocalHost:3000", "localhost.", "127.0.0.1:3000", "127.9.9.9", "[::1]:3000", "[::1]"]
        {
            assert_eq!(access.check_host(Some(host)), Ok(()), "{host} at {bound}");
        }
        assert_eq!(access.check_host(None), Err(AccessError::Host));
        for host in [
            "",
            "evil.example",
            "evil.example:3000",
            "localhost.evil.example",
            "sub.localhost",
            "localhost@evil.example",
            "user@localhost",
            "localhost:3000:1",
            "localhost:",
            "localhost:port",
            "localhost/",
            "localhost, evil.example",
            "localhost ",
            "local%68ost",
            "127.1",
            "2130706433",
            "0.0.0.0:3000",
            "192.168.1.5:3000",
            "::1",
            "[::1",
            "[::]",
            "[::ffff:127.0.0.1]",
            "http://localhost",
        ] {
            assert_eq!(access.check_host(Some(host)), Err(AccessError::Host), "{host:?} at {bound}");
        }
    }
}

#[test]
fn a_server_that_others_can_reach_answers_to_any_name_until_it_has_names() {
    let unnamed = access(&[], &[], "0.0.0.0");
    for host in [None, Some("mcp.example.com"), Some("172.17.0.2:3000"), Some("localhost:3000"), Some("[fe80::1%eth0]")]
    {
        assert_eq!(unnamed.check_host(host), Ok(()), "{host:?}");
    }

    let named = access(&[], &["mcp.example.com", "10.0.0.7:3000", "bücher.example", "2001:db8::1"], "::");
    for (host, passes) in [
        (Some("mcp.example.com"), true),
        (Some("MCP.example.com.:8443"), true),
        (Some("10.0.0.7:3000"), true),
        (Some("xn--bcher-kva.example"), true),
        (Some("[2001:db8::1]:3000"), true),
        (Some("localhost:3000"), true),
        (Some("10.0.0.7"), false),
        (Some("10.0.0.7:3001"), false),
        (Some("evil.example"), false),
        (Some("mcp.example.com.evil.example"), false),
        (Some("172.17.0.2:3000"), false),
        (None, false),
    ] {
        assert_eq!(named.check_host(host).is_ok(), passes, "{host:?}");
    }
}

#[test]
fn any_host_can_be_asked_for() {
    let access = access(&[], &["*"], "127.0.0.1");

    assert_eq!(access.check_host(Some("anything.example")), Ok(()));
    assert_eq!(access.check_host(None), Ok(()));
    assert_eq!(access.check_origin(Some("https://anything.example")), Err(AccessError::Origin));
}

#[test]
fn entries_that_no_request_can_match_are_refused() {
    for entry in [
        "",
        "null",
        "localhost",
        "app.example.com",
        "https://",
        "https://app.example.com/path",
        "https://user@app.example.com",
        "https://*.example.com",
        "https://*",
        "https://app.example.com:port",
        "https://app.example.com:70000",
        "https://app.example.com:+80",
        "https://app.example.com:",
        "https://ex%61mple.com",
        "https://a b",
        "https://[::1",
        "//app.example.com",
    ] {
        assert_eq!(entry.parse::<AllowedOrigin>(), Err(AccessError::NoOrigin { entry: entry.into() }), "{entry:?}");
    }
    for entry in [
        "",
        "https://mcp.example.com",
        "mcp.example.com/path",
        "user@mcp.example.com",
        "*.example.com",
        "mcp.example.com:",
        "mcp.example.com:port",
        "mcp.example.com:70000",
        "a b",
        "[::1",
        "ex%61mple.com",
    ] {
        assert_eq!(entry.parse::<AllowedHost>(), Err(AccessError::NoHost { entry: entry.into() }), "{entry:?}");
    }
}

#[test]
fn entries_are_options_that_are_written_as_they_are_read() {
    for entry in [
        "*",
        "https://app.example.com",
        "http://localhost:*",
        "http://[::1]:3000",
        "app://name",
        "https://xn--bcher-kva.example:8443",
    ] {
        let origin: AllowedOrigin = serde_json::from_value(entry.into()).unwrap();
        assert_eq!(serde_json::to_value(origin).unwrap(), entry);
    }
    for entry in ["*", "mcp.example.com", "mcp.example.com:8443", "[::1]:3000", "[::1]", "10.0.0.7"] {
        let host: AllowedHost = serde_json::from_value(entry.into()).unwrap();
        assert_eq!(serde_json::to_value(host).unwrap(), entry);
    }
    let error = serde_json::from_value::<AllowedOrigin>("localhost".into()).unwrap_err().to_string();
    assert!(error.contains("`localhost` is no origin"), "{error}");
}

#[test]
fn nobody_in_particular_is_anonymous() {
    assert!(Principal::anonymous().is_anonymous());
    assert!(!Principal { id: "alice".into(), roles: Vec::new() }.is_anonymous());
}
