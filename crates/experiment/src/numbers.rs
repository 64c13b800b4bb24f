//! Numbers of runs, as `--only` takes them.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::digest::digest;

/// Some numbers of runs: `7`, `10-20`, `3,17,250-252`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers(Vec<RangeInclusive<usize>>);

impl Numbers {
    /// These numbers.
    pub(crate) fn of(numbers: impl Iterator<Item = usize>) -> Numbers {
        Numbers(numbers.map(|number| number..=number).collect())
    }

    /// Whether a number is among them.
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }

    /// The largest.
    pub(crate) fn last(&self) -> usize {
        self.0.iter().map(|range| *range.end()).max().unwrap_or(0)
    }

    /// A name for files, different for different numbers.
    pub(crate) fn name(&self) -> String {
        match &self.0[..] {
            [range] => format!("{:06}-{:06}", range.start(), range.end()),
            _ => digest(self.to_string().as_bytes())[..16].to_owned(),
        }
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match range.start() == range.end() {
                true => write!(f, "{comma}{}", range.start())?,
                false => write!(f, "{comma}{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Numbers, String> {
        let range = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            match (from.parse(), to.parse()) {
                (Ok(from), Ok(to)) if 1 <= from && from <= to => Ok(from..=to),
                _ => Err("write a run's number, a range such as 10-20, or several with commas"
                    .to_owned()),
            }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for text in ["7", "10-20", "3,17,250-252"] {
            assert_eq!(text.parse::<Numbers>().unwrap().to_string(), text);
        }
        let numbers: Numbers = "3,17,250-252".parse().unwrap();
        assert_eq!(
            (numbers.contains(251), numbers.contains(4), numbers.last()),
            (true, false, 252)
        );
        assert_eq!("10-20".parse::<Numbers>().unwrap().name(), "000010-000020");
        assert_ne!(numbers.name(), "3,17,250-251".parse::<Numbers>().unwrap().name());
        for wrong in ["", "0", "5-3", "1,,2", "a"] {
            assert!(wrong.parse::<Numbers>().is_err(), "{wrong}");
        }
    }
}
