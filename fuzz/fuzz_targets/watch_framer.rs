#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| informers_fuzz::watch_framer(data));
