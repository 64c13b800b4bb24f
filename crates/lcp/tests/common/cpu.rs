//! Time for benchmarks.

/// Seconds of processor time, which other programs on the machine disturb less than the clock.
pub(crate) fn seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, writable `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
