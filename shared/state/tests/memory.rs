//! The stores in memory keep the contract.
//!
//! Where nothing is dated by the calendar, time passes only while nothing else is to be done.

use switchyard_state::{contract, memory};

#[tokio::test(start_paused = true)]
async fn the_memory_log_keeps_the_contract() {
    contract::event_log(&memory::stores_within).await;
}

#[tokio::test(start_paused = true)]
async fn the_memory_sessions_keep_the_contract() {
    contract::session_store(&memory::stores_within).await;
}

#[tokio::test(start_paused = true)]
async fn the_memory_registry_keeps_the_contract() {
    contract::registry(&memory::stores_within).await;
}

#[tokio::test(start_paused = true)]
async fn the_memory_replies_keep_the_contract() {
    contract::reply_log(&memory::stores_within).await;
}

#[tokio::test]
async fn the_memory_tasks_keep_the_contract() {
    contract::task_store(&memory::stores_within).await;
}
