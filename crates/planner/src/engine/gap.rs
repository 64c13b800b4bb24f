//! How far a plan may be from the optimum.

use std::fmt;
use std::str::FromStr;

use crate::task::Cost;

/// The part of the lower bound by which a plan may cost more than it.
///
/// The gap of a plan of cost C with a lower bound L is (C − L) / L. It is compared in integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// In millionths of the lower bound; none for any plan.
    millionths: Option<u64>,
}

const MILLION: u64 = 1_000_000;

impl Default for Gap {
    fn default() -> Gap {
        Gap::OPTIMAL
    }
}

impl Gap {
    /// Only an optimal plan will do.
    pub const OPTIMAL: Gap = Gap { millionths: Some(0) };

    /// Any plan will do.
    pub const ANY: Gap = Gap { millionths: None };

    /// Whether a plan of this cost is close enough, if no plan costs less than `lower`.
    pub fn allows(self, cost: Cost, lower: Cost) -> bool {
        let Some(millionths) = self.millionths else { return true };
        let excess = u128::from(cost.saturating_sub(lower)) * u128::from(MILLION);
        excess <= u128::from(lower) * u128::from(millionths)
    }

    /// Whether no other plan than an optimal one will do.
    pub fn is_optimal(self) -> bool {
        self == Gap::OPTIMAL
    }
}

/// What is not a gap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidGap(String);

impl fmt::Display for InvalidGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid gap `{}`: write a percentage such as 5% or 0.5%, 0, or inf", self.0)
    }
}

impl std::error::Error for InvalidGap {}

impl FromStr for Gap {
    type Err = InvalidGap;

    /// Reads `5%`, `0.25%`, `0` or `inf`; more than four decimal places are refused.
    fn from_str(text: &str) -> Result<Gap, InvalidGap> {
        let invalid = || InvalidGap(text.to_string());
        match text {
            "inf" => return Ok(Gap::ANY),
            "0" => return Ok(Gap::OPTIMAL),
            _ => {}
        }
        let number = text.strip_suffix('%').ok_or_else(invalid)?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || part.len() > 4 {
            return Err(invalid());
        }
        let hundredths: u64 = whole.parse().map_err(|_| invalid())?;
        let decimals: u64 = format!("{part:0<4}").parse().map_err(|_| invalid())?;
        let millionths = hundredths.checked_mul(MILLION / 100).ok_or_else(invalid)?;
        Ok(Gap { millionths: Some(millionths.checked_add(decimals).ok_or_else(invalid)?) })
    }
}

/// A gap as a percentage, rounded up to a tenth; none if the lower bound is 0 and the cost is not.
pub fn show_gap(cost: Cost, lower: Cost) -> Option<String> {
    if cost <= lower {
        return Some("0 %".to_string());
    }
    let tenths = (u128::from(cost - lower) * 1000).checked_div(lower.into())?;
    let is_exact = u128::from(cost - lower) * 1000 == tenths * u128::from(lower);
    let tenths = tenths + u128::from(!is_exact);
    Some(format!("{}.{} %", tenths / 10, tenths % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_read_as_percentages() {
        assert_eq!("0".parse(), Ok(Gap::OPTIMAL));
        assert_eq!("0%".parse(), Ok(Gap::OPTIMAL));
        assert_eq!("inf".parse(), Ok(Gap::ANY));
        assert_eq!("5%".parse(), Ok(Gap { millionths: Some(50_000) }));
        assert_eq!("0.25%".parse(), Ok(Gap { millionths: Some(2_500) }));
        assert_eq!("150.0001%".parse(), Ok(Gap { millionths: Some(1_500_001) }));
        for wrong in ["", "%", "5", "-5%", ".5%", "5.%", "1e3%", "nan", "+5%", "0.00001%"] {
            assert_eq!(wrong.parse::<Gap>(), Err(InvalidGap(wrong.to_string())), "{wrong}");
        }
        let huge = "99999999999999999999%";
        assert!(huge.parse::<Gap>().is_err());
    }

    #[test]
    fn comparisons_are_exact() {
        let five: Gap = "5%".parse().unwrap();
        assert!(five.allows(105, 100) && !five.allows(106, 100));
        assert!(five.allows(42, 40) && !five.allows(44, 41));
        assert!(five.allows(0, 0) && !five.allows(1, 0) && five.allows(3, 5));
        let largest = Cost::MAX;
        assert!(five.allows(largest, largest) && !five.allows(largest, largest / 2));
        assert!(Gap::OPTIMAL.allows(7, 7) && !Gap::OPTIMAL.allows(8, 7));
        assert!(Gap::ANY.allows(largest, 0));
    }

    #[test]
    fn shown_gaps_are_never_too_small() {
        assert_eq!(show_gap(58, 54).as_deref(), Some("7.5 %"));
        assert_eq!(show_gap(54, 54).as_deref(), Some("0 %"));
        assert_eq!(show_gap(105, 100).as_deref(), Some("5.0 %"));
        assert_eq!(show_gap(1001, 1000).as_deref(), Some("0.1 %"));
        assert_eq!(show_gap(10_001, 10_000).as_deref(), Some("0.1 %"));
        assert_eq!(show_gap(Cost::MAX, 1).as_deref(), Some("1844674407370955161400.0 %"));
        assert_eq!((show_gap(3, 0), show_gap(0, 0).as_deref()), (None, Some("0 %")));
    }
}
