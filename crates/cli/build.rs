//! Tells the program from which revision it was built, where that is known.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // A commit changes the log of HEAD; a source archive has none, and no revision either.
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    if let Some(revision) = git(&["rev-parse", "HEAD"]) {
        println!("cargo:rustc-env=APPORTION_REVISION={revision}");
    }
}
