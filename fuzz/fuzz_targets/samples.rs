//! A file of samples whose checksum is right: its JSON header with metadata, and after a form feed the
//! tensors.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use train::dataset::Dataset;

static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("fuzz-{}.samples", std::process::id())));

/// What stands for the checksum in a header.
const CHECKSUM: &str = "the checksum is";

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |&byte| byte == b'\x0c');
    let header = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let tensors = parts.next().unwrap_or_default();
    let sum = tensors.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let header = header.replace(CHECKSUM, &format!("{sum:016x}"));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(tensors);
    fs::write(&*FILE, file).expect("a file can be written");
    let _ = Dataset::load(&FILE);
});
