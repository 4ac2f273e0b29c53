//! Makes up input for [`switchyard_fuzz::sse_reader`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchyard_fuzz::sse_reader(data));
