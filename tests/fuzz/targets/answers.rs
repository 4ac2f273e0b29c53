//! Makes up input for [`switchyard_fuzz::answers`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| switchyard_fuzz::answers(data));
