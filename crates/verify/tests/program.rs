//! The program, on a certificate written by hand.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;

/// One variable, which is at its goal already; no operator.
const TASK: &str = "begin_version\n3\nend_version\nbegin_metric\n0\nend_metric\n1\nbegin_variable\n\
    var0\n-1\n2\nAtom a()\nNegatedAtom a()\nend_variable\n0\nbegin_state\n0\nend_state\n\
    begin_goal\n1\n0 0\nend_goal\n0\n0\n";

/// The fingerprint, as `docs/certificate.md` says.
fn fingerprint() -> u64 {
    "-1 2\n0\n0 0\n".bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn certificate(numbers: &[u64]) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::default());
    file.write_all(b"apportion certificate 1\n").unwrap();
    for &(mut number) in numbers {
        while number >= 0x80 {
            file.write_all(&[number as u8 | 0x80]).unwrap();
            number >>= 7;
        }
        file.write_all(&[number as u8]).unwrap();
    }
    file.finish().unwrap()
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_apportion-verify");
    let output: Output =
        Command::new(program).current_dir(folder).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn a_proof_is_verified_and_a_lie_refused() {
    let folder = std::env::temp_dir().join(format!("apportion-verify-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("task.sas"), TASK).unwrap();
    // Cost 0 and no steps; the initial state, open at cost 0 by the bound that is 0; the end.
    let proof = [fingerprint(), 1, 0, 5, 0, 0, 1, 0, 1];
    // The same at cost 1, for which there is no plan of no steps; closed, though it is a goal.
    let mut dearer = proof;
    dearer[1] = 2;
    let unsolvable = [fingerprint(), 0, 5, 0, 0, 0, 0, 1];
    let cases: [(&[u64], Option<i32>, &str); 3] = [
        (&proof, Some(0), "verified optimal: cost 0, 0 steps"),
        (&dearer, Some(1), "refused: certificate, byte"),
        (&unsolvable, Some(1), "refused: state 0: is closed and a goal"),
    ];
    for (numbers, code, text) in cases {
        std::fs::write(folder.join("proof"), certificate(numbers)).unwrap();
        let (found, said) = run(&folder, &["task.sas", "proof"]);
        assert_eq!(found, code, "{said}");
        assert!(said.starts_with(text), "{said}");
    }
    assert_eq!(run(&folder, &["task.sas", "missing"]).0, Some(2));
    assert_eq!(run(&folder, &[]).0, Some(2));
    std::fs::remove_dir_all(&folder).unwrap();
}
