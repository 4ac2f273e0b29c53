//! Makes up input for [`switchyard_fuzz::decoder`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchyard_fuzz::decoder(data));
