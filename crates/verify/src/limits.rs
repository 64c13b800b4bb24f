//! Limits of time and memory, held by a thread that ends the process.
//!
//! The memory is what the system says is resident, asked for every few milliseconds.

use std::process::exit;
use std::time::{Duration, Instant};
use std::{fs, thread};

const OUT_OF_MEMORY: i32 = 22;
const OUT_OF_TIME: i32 = 23;
const INTERVAL: Duration = Duration::from_millis(10);

/// From now on the process ends at this time, or when more than so many bytes are resident.
pub(crate) fn hold(time: Duration, memory: u64) -> Result<(), String> {
    let started = Instant::now();
    if resident().is_none() {
        return Err("cannot hold the memory limit: /proc does not say what is resident".into());
    }
    let watch = move || {
        loop {
            if started.elapsed() >= time {
                eprintln!("out of time: nothing is verified; --time-limit gives more");
                exit(OUT_OF_TIME);
            }
            if resident().is_none_or(|bytes| bytes > memory) {
                eprintln!("out of memory: nothing is verified; --memory-limit gives more");
                exit(OUT_OF_MEMORY);
            }
            thread::sleep(INTERVAL.min(time.saturating_sub(started.elapsed())));
        }
    };
    let started = thread::Builder::new().name("limits".into()).spawn(watch);
    started.map(drop).map_err(|error| format!("cannot watch the limits: {error}"))
}

/// The resident bytes of this process.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
