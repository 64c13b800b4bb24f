//! FNV-1a (Fowler, Noll, Vo), the hash of what is compared across runs and files: 64 bits, the same
//! on every machine. Not for tables, and no protection against intent.

/// A hash so far.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Fnv {
    /// The hash of nothing.
    pub fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// Takes a word as one unit; a byte is a word below 256.
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
    }

    /// Takes bytes, one after the other.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.add(byte.into()));
    }

    /// The hash of all that was taken.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv::new()
    }
}

/// The hash of bytes.
pub fn fnv(bytes: &[u8]) -> u64 {
    let mut hash = Fnv::new();
    hash.add_bytes(bytes);
    hash.get()
}

#[cfg(test)]
mod tests {
    use super::fnv;

    /// Test vectors of the authors.
    #[test]
    fn known_hashes() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
