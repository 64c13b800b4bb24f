//! Lists the shipped models, so that adding one is adding a file.

use std::path::Path;
use std::{env, fs};

fn main() {
    // Where the crate is now, which need not be where this script was compiled.
    let root = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = Path::new(&root).join("../../models");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut models: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .collect();
    models.sort();
    if models.is_empty() {
        println!("cargo::warning=no models in {}: the program will ship none", folder.display());
    }
    let mut list = String::from("&[\n");
    for model in models {
        list.push_str(&format!("    include_bytes!({:?}),\n", model.display().to_string()));
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("shipped_models.rs"), list).expect("the list can be written");
}
