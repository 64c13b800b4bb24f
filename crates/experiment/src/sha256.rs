//! SHA-256 (FIPS 180-4), for names of programs, models and runs; speed does not matter here.

/// The first 32 bits of the fractional parts of the square roots of the first 8 primes, and of the cube
/// roots of the first 64: computed as the standard defines them, so that no table can hold a typing error.
fn constants() -> ([u32; 8], [u32; 64]) {
    let is_prime = |n: &u64| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    let primes: Vec<u64> = (2..312).filter(is_prime).collect();
    // ⌊root(p) · 2³²⌋ mod 2³² by bisection in integers.
    let fraction = |p: u64, power: u32| {
        let (mut low, mut high) = (0u128, 1u128 << 36);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle.pow(power) <= u128::from(p) << (32 * power) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low as u32
    };
    (
        std::array::from_fn(|i| fraction(primes[i], 2)),
        std::array::from_fn(|i| fraction(primes[i], 3)),
    )
}

/// SHA-256 in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let (mut hash, k) = constants();
    let mut message = bytes.to_vec();
    message.push(0x80);
    message.resize(message.len().next_multiple_of(64), 0);
    if message.len() - bytes.len() < 9 {
        message.resize(message.len() + 64, 0);
    }
    let end = message.len() - 8;
    message[end..].copy_from_slice(&(8 * bytes.len() as u64).to_be_bytes());
    for block in message.chunks_exact(64) {
        let mut w = [0u32; 64];
        for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
        }
        for i in 16..64 {
            let (a, b) = (w[i - 15], w[i - 2]);
            let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            w[i] = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = hash;
        for (w, k) in w.into_iter().zip(k) {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let t1 = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(k).wrapping_add(w);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = (a & b) ^ (a & c) ^ (b & c);
            (h, g, f, e) = (g, f, e, d.wrapping_add(t1));
            (d, c, b, a) = (c, b, a, t1.wrapping_add(s0.wrapping_add(majority)));
        }
        for (sum, part) in hash.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(part);
        }
    }
    hash.iter().map(|word| format!("{word:08x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the standard, and lengths around a block.
    #[test]
    fn known_digests() {
        for (text, expected) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ] {
            assert_eq!(digest(text.as_bytes()), expected);
        }
        for (length, start) in [
            (55, "9f4390f8d30c2dd9"),
            (56, "b35439a4ac6f0948"),
            (63, "7d3e74a05d7db15b"),
            (64, "ffe054fe7ae0cb6d"),
            (65, "635361c48bb9eab1"),
            (1000, "41edece42d63e8d9"),
        ] {
            assert!(digest(&vec![b'a'; length]).starts_with(start), "{length} times a");
        }
    }
}
