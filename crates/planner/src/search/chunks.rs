//! A growing array of fixed-size records that never moves what it holds.
//!
//! Records lie in chunks of equal size, so growth copies nothing and needs no second block of
//! memory: the array may fill all but one chunk of what the memory limit leaves.

/// Records of `stride` elements each, addressed by a 32-bit index.
pub(super) struct Chunks<T> {
    chunks: Vec<Box<[T]>>,
    /// Records per chunk, as a power of two.
    shift: u32,
    stride: usize,
    len: usize,
}

/// Chunks are about this large; one is allocated at once even for a tiny task.
const CHUNK_BYTES: usize = 1 << 18;

impl<T: Copy + Default> Chunks<T> {
    pub(super) fn new(stride: usize) -> Chunks<T> {
        let records = CHUNK_BYTES / (stride * size_of::<T>());
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
    pub(super) fn record(&self, index: u32) -> &[T] {
        let (chunk, at) = self.position(index);
        &self.chunks[chunk][at..at + self.stride]
    }

    /// The record with this index, to change it.
    #[inline(always)]
    pub(super) fn record_mut(&mut self, index: u32) -> &mut [T] {
        let (chunk, at) = self.position(index);
        &mut self.chunks[chunk][at..at + self.stride]
    }

    /// Starts loading the record into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, index: u32) {
        let (chunk, at) = self.position(index);
        prefetch(&raw const self.chunks[chunk][at]);
    }

    /// Appends a record of default values and returns its index.
    #[inline]
    pub(super) fn push_default(&mut self) -> u32 {
        let index = self.len as u32;
        if self.position(index).0 == self.chunks.len() {
            let elements = self.stride << self.shift;
            self.chunks.push(vec![T::default(); elements].into_boxed_slice());
        }
        self.len += 1;
        index
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.len() * (self.stride << self.shift) * size_of::<T>()
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
