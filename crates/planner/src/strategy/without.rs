//! Parts of the planner that can be left out, for experiments that ask what each is worth, and for
//! proofs that have no words for them.

/// A part that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// The invariants that reduce the task; whatever the bound is.
    H2,
    /// The second stage: more components.
    Growth,
    /// Larger patterns in the second stage.
    LargerPatterns,
    /// Cartesian abstractions in the second stage.
    Cartesian,
    /// Landmarks that are counted, in the second stage.
    Landmarks,
    /// Landmarks of LM-cut in the second stage.
    Cuts,
    /// The dive.
    Dive,
    /// Ascent beside saturated partitionings, in the first stage.
    Ascent,
    /// Ascent beside saturated partitionings, in the second stage.
    LateAscent,
    /// The learned rule for steps of ascent; steps are plain then.
    LearnedRule,
    /// Optimal partitionings beside the others.
    Ocp,
    /// The choice among partitioners by their gain; without it they take turns.
    Policy,
    /// Symmetries: one stored state for many.
    Symmetries,
    /// Stubborn sets: operators that may be applied later.
    Stubborn,
    /// Partial expansion once memory gets scarce.
    Partial,
    /// Symbolic search beside A*.
    Symbolic,
    /// The search for plans beside A*.
    Plans,
}

impl Feature {
    /// All of them with their names.
    pub const ALL: [(&'static str, Feature); 17] = [
        ("h2", Feature::H2),
        ("growth", Feature::Growth),
        ("larger-patterns", Feature::LargerPatterns),
        ("cartesian", Feature::Cartesian),
        ("landmarks", Feature::Landmarks),
        ("cuts", Feature::Cuts),
        ("dive", Feature::Dive),
        ("ascent", Feature::Ascent),
        ("late-ascent", Feature::LateAscent),
        ("learned-rule", Feature::LearnedRule),
        ("ocp", Feature::Ocp),
        ("policy", Feature::Policy),
        ("symmetries", Feature::Symmetries),
        ("stubborn", Feature::Stubborn),
        ("partial", Feature::Partial),
        ("symbolic", Feature::Symbolic),
        ("plans", Feature::Plans),
    ];
}

impl std::str::FromStr for Feature {
    type Err = String;

    fn from_str(name: &str) -> Result<Feature, String> {
        let names = || Feature::ALL.map(|(name, _)| name).join(", ");
        let found = Feature::ALL.iter().find(|(known, _)| *known == name);
        found.map(|&(_, feature)| feature).ok_or_else(|| format!("the names are {}", names()))
    }
}

/// What is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Without(Vec<Feature>);

impl Without {
    /// Nothing is left out.
    pub fn nothing() -> Without {
        Without::default()
    }

    /// Leaves out one part more.
    pub fn leave_out(&mut self, feature: Feature) {
        self.0.push(feature);
    }

    /// Whether this part is left out.
    pub fn has(&self, feature: Feature) -> bool {
        self.0.contains(&feature)
    }
}

impl FromIterator<Feature> for Without {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Without {
        Without(features.into_iter().collect())
    }
}
