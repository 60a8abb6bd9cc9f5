#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| informers_fuzz::continue_loop(data));
