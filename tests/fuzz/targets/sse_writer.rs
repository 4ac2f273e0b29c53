//! Makes up input for [`switchyard_fuzz::sse_writer`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchyard_fuzz::sse_writer(data));
