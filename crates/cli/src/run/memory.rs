//! The memory limit: a counting allocator that ends the run in order instead of being killed.
//!
//! Every allocation of the process is counted, so the limit holds in every phase: translation,
//! preprocessing and search.
//! The search also looks at [`in_use`] and stops by itself a little earlier.
//! An allocation above the limit, or one that the system refuses, calls the handler given to
//! [`limit`], which writes what is known and ends the process; without a handler the process ends
//! with the exit code for it.
//! (An allocator must not unwind, so there is no other way to stop a computation from here.)
//!
//! Small allocations are counted per thread and added up every 64 KiB, which keeps the counting
//! off the profile and the sum right to within 64 KiB a thread.
//! What is resident may be more: the program itself, and what mimalloc keeps of blocks that were
//! freed. Where that matters, near the limit, it is looked at for every MiB allocated, and the run
//! ends a [`MARGIN`] below the limit, so that what happens between two looks stays within it.
//!
//! Blocks of 1 MiB and more come from the system and go back to it at once, so that a hash table
//! that has grown does not leave its predecessors behind, and growing a large vector moves pages
//! instead of copying them.
//! PERF: `experiments/engineering.md` has what either saves.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use host::machine::peak_memory;
use mimalloc::MiMalloc;

use crate::run::exit::Exit;

#[global_allocator]
static ALLOCATOR: Counting = Counting(MiMalloc);

static IN_USE: AtomicIsize = AtomicIsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static ON_EXHAUSTION: OnceLock<fn() -> !> = OnceLock::new();
/// With more bytes in use than this, the resident memory is looked at now and then.
static LOOK_ABOVE: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes allocated since the last look, whatever was freed: it may be kept by mimalloc.
static GROWN: AtomicUsize = AtomicUsize::new(0);

const BATCH: isize = 64 << 10;
/// How many bytes are allocated between two looks.
const LOOK: usize = 1 << 20;
/// How far below the limit the resident memory must stay, at most; a 16th of small limits.
const MARGIN: usize = 4 << 20;

thread_local! {
    /// Bytes of this thread that are not yet in `IN_USE`.
    static PENDING: Cell<isize> = const { Cell::new(0) };
    /// Whether this thread is ending the process.
    static ENDING: Cell<bool> = const { Cell::new(false) };
}

/// Bytes allocated now.
pub(crate) fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed).max(0) as usize
}

/// From now on, at most `bytes` may be allocated; `on_exhaustion` must end the process.
pub(crate) fn limit(bytes: usize, on_exhaustion: fn() -> !) {
    let _ = ON_EXHAUSTION.set(on_exhaustion);
    LIMIT.store(bytes, Ordering::Relaxed);
    LOOK_ABOVE.store(bytes / 4, Ordering::Relaxed);
}

/// Lifts the limit, so that results can be written whatever is left.
pub(crate) fn lift_limit() {
    LIMIT.store(usize::MAX, Ordering::Relaxed);
    LOOK_ABOVE.store(usize::MAX, Ordering::Relaxed);
}

struct Counting(MiMalloc);

impl Counting {
    /// Counts `bytes` more (or fewer); ends the process if that is above the limit.
    #[inline]
    fn count(&self, bytes: isize) {
        // A thread that is ending has no thread-local storage any more: count directly.
        let batch = PENDING.try_with(|pending| {
            let sum = pending.get() + bytes;
            let full = sum.abs() >= BATCH;
            pending.set(if full { 0 } else { sum });
            if full { sum } else { 0 }
        });
        let batch = batch.unwrap_or(bytes);
        if batch != 0 {
            let in_use = (IN_USE.fetch_add(batch, Ordering::Relaxed) + batch).max(0) as usize;
            if bytes > 0 && in_use > LIMIT.load(Ordering::Relaxed) {
                exhausted();
            }
            if batch > 0 && in_use > LOOK_ABOVE.load(Ordering::Relaxed) {
                let grown = GROWN.fetch_add(batch as usize, Ordering::Relaxed) + batch as usize;
                if grown >= LOOK {
                    look_at_resident(bytes.max(0) as usize);
                }
            }
        }
    }
}

/// Ends the process if more than may be is resident or about to be, mimalloc's unused pages
/// excepted.
#[cold]
fn look_at_resident(about_to_be: usize) {
    GROWN.store(0, Ordering::Relaxed);
    let limit = LIMIT.load(Ordering::Relaxed);
    let usable = limit.saturating_sub(about_to_be);
    if is_full(usable) {
        // SAFETY: mimalloc gives back what this thread has no use for; no block is touched.
        unsafe { mi_collect(true) };
        if is_full(usable) {
            exhausted();
        }
    }
}

/// Whether as much is resident as a limit allows.
pub(crate) fn is_full(limit: usize) -> bool {
    resident() > limit - MARGIN.min(limit / 16)
}

unsafe extern "C" {
    /// Of mimalloc, which is linked.
    fn mi_collect(force: bool);
}

/// Bytes resident now, or 0 if the system does not say; allocates nothing.
pub(crate) fn resident() -> usize {
    let mut text = [0u8; 128];
    // SAFETY: the path ends in a zero byte, the buffer is as long as it says, and the descriptor
    // is closed where it was opened.
    let (length, page) = unsafe {
        let file = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return 0;
        }
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        (length.max(0) as usize, libc::sysconf(libc::_SC_PAGESIZE).max(0) as usize)
    };
    let digits = text[..length].split(|&byte| byte == b' ').nth(1).unwrap_or_default();
    let pages =
        digits.iter().fold(0, |sum, digit| 10 * sum + usize::from(digit.wrapping_sub(b'0')));
    pages * page
}

#[cold]
fn exhausted() {
    let ending = ENDING.try_with(|ending| ending.replace(true)).unwrap_or(true);
    lift_limit();
    match ON_EXHAUSTION.get() {
        Some(handler) if !ending => handler(),
        // There is not even memory to write a report, or none is asked for.
        _ => {
            let text = "error: out of memory\n";
            // SAFETY: pointer and length describe a string; nothing runs after the exit.
            unsafe {
                libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
                libc::_exit(i32::from(Exit::OutOfMemory as u8))
            }
        }
    }
}

// SAFETY: every call goes to mimalloc or, for large blocks, to the system, depending on the layout
// alone; counting neither touches the memory nor unwinds nor allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size() as isize);
        checked(if large::is_large(layout) {
            large::map(layout.size())
        } else {
            // SAFETY: the caller's contract is mimalloc's.
            unsafe { self.0.alloc(layout) }
        })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size() as isize);
        checked(if large::is_large(layout) {
            large::map(layout.size())
        } else {
            // SAFETY: as above.
            unsafe { self.0.alloc_zeroed(layout) }
        })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.count(-(layout.size() as isize));
        if large::is_large(layout) {
            // SAFETY: a block of this layout was mapped with this size.
            unsafe { large::unmap(pointer, layout.size()) }
        } else {
            // SAFETY: as above.
            unsafe { self.0.dealloc(pointer, layout) }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the new size is valid for this alignment.
        let new = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        match (large::is_large(layout), large::is_large(new)) {
            (false, false) => {
                self.count(new_size as isize - layout.size() as isize);
                // SAFETY: as above.
                checked(unsafe { self.0.realloc(pointer, layout, new_size) })
            }
            (true, true) => {
                self.count(new_size as isize - layout.size() as isize);
                // SAFETY: a block of this layout was mapped with this size.
                checked(unsafe { large::remap(pointer, layout.size(), new_size) })
            }
            _ => {
                // SAFETY: a fresh block that does not overlap the old one, which is then given up.
                unsafe {
                    let moved = self.alloc(new);
                    if !moved.is_null() {
                        let length = layout.size().min(new_size);
                        std::ptr::copy_nonoverlapping(pointer, moved, length);
                        self.dealloc(pointer, layout);
                    }
                    moved
                }
            }
        }
    }
}

/// Blocks straight from the system.
#[cfg(target_os = "linux")]
mod large {
    use std::alloc::Layout;
    use std::ptr::null_mut;

    const LARGE: usize = 1 << 20;
    const PAGE: usize = 4 << 10;

    #[inline(always)]
    pub(super) fn is_large(layout: Layout) -> bool {
        layout.size() >= LARGE && layout.align() <= PAGE
    }

    /// A block of zeros, or null.
    pub(super) fn map(size: usize) -> *mut u8 {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        if super::in_use() > super::LOOK_ABOVE.load(super::Ordering::Relaxed) {
            // Near the limit a block is resident at once: several of them, each of which fits alone, would
            // otherwise be touched after the last look.
            flags |= libc::MAP_POPULATE;
        }
        // SAFETY: asks for a fresh mapping, which aliases nothing.
        let block = unsafe { libc::mmap(null_mut(), size, protection, flags, -1, 0) };
        if block == libc::MAP_FAILED { null_mut() } else { block.cast() }
    }

    /// Gives a block back.
    ///
    /// # Safety
    /// `block` is a block from this module of this size, and nobody uses it any more.
    pub(super) unsafe fn unmap(block: *mut u8, size: usize) {
        // SAFETY: see above.
        unsafe { libc::munmap(block.cast(), size) };
    }

    /// Changes the size of a block, which may move.
    ///
    /// # Safety
    /// `block` is a block from this module of size `old`, and nobody uses its address any more.
    pub(super) unsafe fn remap(block: *mut u8, old: usize, new: usize) -> *mut u8 {
        // SAFETY: see above.
        let moved = unsafe { libc::mremap(block.cast(), old, new, libc::MREMAP_MAYMOVE) };
        if moved == libc::MAP_FAILED { null_mut() } else { moved.cast() }
    }
}

/// Elsewhere no block counts as large.
#[cfg(not(target_os = "linux"))]
mod large {
    use std::alloc::Layout;

    pub(super) fn is_large(_: Layout) -> bool {
        false
    }

    pub(super) fn map(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub(super) unsafe fn unmap(_: *mut u8, _: usize) {}

    pub(super) unsafe fn remap(_: *mut u8, _: usize, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

/// The system's refusal is an exhausted memory as well.
#[inline]
fn checked(pointer: *mut u8) -> *mut u8 {
    if pointer.is_null() {
        exhausted();
    }
    pointer
}

/// The most main memory that the process ever occupied, in bytes, and its processor time in
/// seconds.
pub(crate) fn usage() -> (u64, f64) {
    // SAFETY: getrusage fills the struct, for which all zeros is a valid value.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    // As Linux counts it for this program alone; `ru_maxrss` may still be that of the parent process.
    let peak = peak_memory().unwrap_or(usage.ru_maxrss as u64 * unit);
    (peak, seconds(usage.ru_utime) + seconds(usage.ru_stime))
}
