//! A file of samples whose check sums are right: the header, and after a form feed a task.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use train::dataset::Dataset;

const MAGIC_AND_VERSION: &[u8] = b"APSAMPLE\x01\0\0\0";
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("fuzz-{}.samples", std::process::id())));

fn push_block(file: &mut Vec<u8>, bytes: &[u8]) {
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    file.extend((bytes.len() as u32).to_le_bytes());
    file.extend(bytes);
    file.extend(sum.to_le_bytes());
}

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |&byte| byte == b'\x0c');
    let mut file = MAGIC_AND_VERSION.to_vec();
    parts.by_ref().for_each(|part| push_block(&mut file, part));
    fs::write(&*FILE, file).expect("a file can be written");
    let _ = Dataset::load(&FILE);
});
