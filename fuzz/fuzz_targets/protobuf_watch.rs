#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| informers_fuzz::protobuf_watch(data));
