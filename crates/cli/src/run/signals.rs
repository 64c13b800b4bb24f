//! Signals that ask the process to end, as a flag to look at.
//!
//! The first one is kept and raises the flag; whoever works ends in order and with the code of
//! that signal ([`exit`]).
//! A second one ends the process at once, except that the system repeats SIGXCPU every second.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::run::exit::Exit;

static CAUGHT: AtomicI32 = AtomicI32::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

/// From now on signals raise the flag.
pub(crate) fn catch() -> &'static AtomicBool {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGXCPU] {
        // SAFETY: all zeros is a valid sigaction, and the handler is async-signal-safe: it only
        // touches atomics and perhaps ends the process.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &action, &mut before);
            // What `nohup` and shells tell background jobs to ignore stays ignored.
            if before.sa_sigaction == libc::SIG_IGN {
                libc::sigaction(signal, &before, std::ptr::null_mut());
            }
        }
    }
    &STOP
}

extern "C" fn handle(signal: libc::c_int) {
    let first = CAUGHT.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    if first.is_err() && signal != libc::SIGXCPU {
        // SAFETY: ends the process; nothing runs afterwards.
        unsafe { libc::_exit(128 + signal) }
    }
    STOP.store(true, Ordering::SeqCst);
}

/// The exit code that the signal asks for, if there was one.
pub(crate) fn exit() -> Option<Exit> {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => None,
        libc::SIGTERM => Some(Exit::Terminated),
        libc::SIGHUP => Some(Exit::HungUp),
        libc::SIGXCPU => Some(Exit::OutOfTime),
        _ => Some(Exit::Interrupted),
    }
}
