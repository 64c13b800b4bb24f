//! Durations and sizes as people write them.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// Reads `90`, `90s`, `1.5m`, `2h` or `200ms`.
pub fn parse_duration(text: &str) -> Result<Duration> {
    let (number, unit) = split_unit(text)?;
    let scale = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => bail!("invalid duration `{text}`: write e.g. 30s, 5m or 2h"),
    };
    Duration::try_from_secs_f64(number * scale).with_context(|| format!("`{text}` is out of range"))
}

/// Reads `4096`, `512MiB`, `4GiB` or `4GB`.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let (number, unit) = split_unit(text)?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kib" | "k" => 1024.0,
        "mib" | "m" => 1024.0 * 1024.0,
        "gib" | "g" => 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        _ => bail!("invalid size `{text}`: write e.g. 512MiB or 4GiB"),
    };
    Ok((number * scale) as u64)
}

/// Reads a memory limit, which is hardly ever meant to be a few bytes.
pub fn parse_memory(text: &str) -> Result<u64> {
    let bytes = parse_bytes(text)?;
    ensure!(
        bytes >= LEAST_MEMORY,
        "`{text}` is {}, and nothing runs in less than {}: is a unit missing, as in 512MiB?",
        show_bytes(bytes),
        show_bytes(LEAST_MEMORY)
    );
    Ok(bytes)
}

/// No limit is below this.
const LEAST_MEMORY: u64 = 1 << 20;

fn split_unit(text: &str) -> Result<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number =
        text[..end].parse().with_context(|| format!("`{text}` does not start with a number"))?;
    Ok((number, text[end..].trim()))
}

/// Writes a duration for people: `0.8 s`, `42 s`, `3m 07s`, `2h 05m`.
pub fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..100 => format!("{seconds} s"),
        100..6000 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Writes a size for people: `1.5 GiB`.
pub fn show_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 10.0 && value.fract() >= 0.05);
    format!("{value:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_read_and_written() {
        for (text, seconds) in
            [("90", 90.0), ("30s", 30.0), ("1.5m", 90.0), ("2h", 7200.0), ("200ms", 0.2)]
        {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_secs_f64(seconds));
        }
        assert_eq!(parse_bytes("4GiB").unwrap(), 4 << 30);
        assert_eq!(parse_bytes("1 kB").unwrap(), 1000);
        for wrong in ["", "s", "3 weeks", "1e999999s", "-1s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(show_duration(Duration::from_secs(187)), "3m 07s");
        assert_eq!(show_bytes(4 << 30), "4 GiB");
        assert_eq!(show_bytes(1536 << 20), "1.5 GiB");
    }
}
