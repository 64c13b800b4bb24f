//! A process that must not outlive the one that started it.

use crate::run::exit::Exit;

/// From now on the kernel kills this process when the thread of `parent` that started it ends.
pub(crate) fn end_with(parent: u32) {
    // SAFETY: plain system calls.
    let now = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::getppid()
    };
    // It may have ended before the kernel was asked.
    if u32::try_from(now) != Ok(parent) {
        std::process::exit(Exit::Terminated as i32);
    }
}
