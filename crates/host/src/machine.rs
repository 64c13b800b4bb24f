//! What the system says about processors, memory and processes.

/// The model of the processor, or its architecture where the system does not say.
pub fn processor() -> String {
    field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Main memory of this machine.
pub fn memory_bytes() -> Option<u64> {
    kibibytes("/proc/meminfo", "MemTotal")
}

/// The memory of this machine or container, in bytes, where the system says so.
pub fn available_memory() -> Option<u64> {
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let of_group =
        limits.iter().filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok());
    of_group.chain(memory_bytes()).min()
}

/// Bytes of main memory that a process occupies now, where the system says so; `process` is a number or
/// `self`.
pub fn resident_memory(process: impl std::fmt::Display) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    // SAFETY: a plain query.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page).ok()?)
}

/// The most main memory that this process ever occupied, where the system says so.
pub fn peak_memory() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM")
}

fn kibibytes(file: &str, name: &str) -> Option<u64> {
    Some(field(file, name)?.strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The value of a line `name: value`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
