//! Compiles the contract with protox, so that nobody needs to install protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=switchyard");
    let files = ["common", "tools", "tasks", "resources", "prompts", "events", "gateway", "lane"]
        .map(|name| format!("switchyard/v1/{name}.proto"));
    let descriptors = protox::compile(files, ["."])?;
    // `Bytes` fields are slices of the received frame: JSON and blobs are not copied on their way through.
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}
