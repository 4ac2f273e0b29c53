//! `listProcesses`

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use serde_json::json;
use switchyard_tools::ToolOptions;

use crate::caller::{call, offering};

#[tokio::test]
async fn processes_are_listed_without_what_they_were_told() {
    const SECRET: &str = "a-secret-on-a-command-line";
    let mut child = Command::new("sh")
        .args(["-c", "echo up; read line", "sh", SECRET])
        .env("PASSWORD", SECRET)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut up = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut up).unwrap();
    let service = offering(ToolOptions::named("listProcesses"));

    let listed = call(&service, "listProcesses", json!({"limit": 1000})).await.unwrap();

    let found = listed.success();
    let found = found["processes"].as_array().unwrap();
    let ours = found.iter().find(|process| process["pid"] == child.id()).expect("the child is listed");
    assert_eq!(ours["name"], "sh");
    assert!(ours["memoryBytes"].as_u64().unwrap() > 0);
    assert!(!listed.text().contains(SECRET));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn the_busiest_come_first_and_the_rest_is_counted() {
    let service = offering(ToolOptions::named("listProcesses"));

    let listed = call(&service, "listProcesses", json!({"limit": 2})).await.unwrap().success();

    let cpu: Vec<_> =
        listed["processes"].as_array().unwrap().iter().map(|p| p["cpuPercent"].as_f64().unwrap()).collect();
    assert!(cpu.len() <= 2 && cpu.is_sorted_by(|a, b| a >= b), "{listed}");
    assert!(listed["total"].as_u64().unwrap() >= cpu.len() as u64);
}
