//! A growing array of records of a few words each that never moves what it holds.
//!
//! Records lie in chunks of equal size, so growth copies nothing and needs no second block of
//! memory: the array may fill all but one chunk of what the memory limit leaves.
//! Chunks are large and asked for as zeros, which operating systems hand out page by page when
//! they are first written: an array that is hardly used costs hardly anything.

/// Records of `stride` words each, addressed by a 32-bit index.
pub(super) struct Chunks {
    chunks: Vec<Box<[u32]>>,
    /// Records per chunk, as a power of two.
    shift: u32,
    stride: usize,
    len: usize,
}

const CHUNK_BYTES: usize = 2 << 20;

impl Chunks {
    pub(super) fn new(stride: usize) -> Chunks {
        let records = CHUNK_BYTES / (stride * size_of::<u32>());
        Chunks { chunks: Vec::new(), shift: records.max(1).ilog2(), stride, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn position(&self, index: u32) -> (usize, usize) {
        let mask = (1 << self.shift) - 1;
        ((index >> self.shift) as usize, (index & mask) as usize * self.stride)
    }

    /// The record with this index.
    #[inline(always)]
    pub(super) fn record(&self, index: u32) -> &[u32] {
        let (chunk, at) = self.position(index);
        &self.chunks[chunk][at..at + self.stride]
    }

    /// The record with this index, to change it.
    #[inline(always)]
    pub(super) fn record_mut(&mut self, index: u32) -> &mut [u32] {
        let (chunk, at) = self.position(index);
        &mut self.chunks[chunk][at..at + self.stride]
    }

    /// A record of a stride known at compile time.
    #[inline(always)]
    pub(super) fn array<const N: usize>(&self, index: u32) -> &[u32; N] {
        self.record(index).try_into().expect("the stride is N")
    }

    /// A record of a stride known at compile time, to change it.
    #[inline(always)]
    pub(super) fn array_mut<const N: usize>(&mut self, index: u32) -> &mut [u32; N] {
        self.record_mut(index).try_into().expect("the stride is N")
    }

    /// Starts loading the record into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, index: u32) {
        let (chunk, at) = self.position(index);
        prefetch(&raw const self.chunks[chunk][at]);
    }

    /// Appends a record of zeros and returns its index.
    #[inline]
    pub(super) fn push_zeros(&mut self) -> u32 {
        let index = self.len as u32;
        if self.position(index).0 == self.chunks.len() {
            let words = self.stride << self.shift;
            self.chunks.push(vec![0; words].into_boxed_slice());
        }
        self.len += 1;
        index
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.len * self.stride * size_of::<u32>()
    }
}

/// Starts loading the cache line at this address; does nothing where the target has no such
/// instruction.
#[inline(always)]
pub(super) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint and never faults, whatever the address.
        unsafe { _mm_prefetch(address.cast(), _MM_HINT_T0) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
