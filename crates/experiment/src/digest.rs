//! SHA-256 as text, for names of programs, models and runs.

use sha2::{Digest, Sha256};

/// The digest in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of results that are on disk depend on it.
    #[test]
    fn digests_are_lower_case_hexadecimal() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc"), expected);
    }
}
