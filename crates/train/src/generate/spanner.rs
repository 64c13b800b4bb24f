//! A one-way corridor from the shed to the gate, spanners along it, nuts at the gate.
//! The evaluation tasks have about twice as many spanners as nuts; other layouts go from a single
//! nut to as many nuts as spanners, and from short to long corridors.
//! Solvable: there are at least as many spanners as nuts, all ahead of the man.

use rand::RngExt;

use super::{Facts, Random};

pub(super) fn facts(spanners: usize, layout: usize, random: &mut Random) -> Facts {
    let nuts = match layout % 4 {
        0 => spanners,
        1 => random.random_range(1..=spanners),
        _ => spanners.div_ceil(2),
    };
    let inner = match layout % 3 {
        0 => random.random_range(1..=spanners + 4),
        _ => 4 + spanners * 3 / 5,
    };
    let mut facts = Facts::default();
    let spanner_names: Vec<String> = (1..=spanners).map(|i| format!("spanner{i}")).collect();
    let nut_names: Vec<String> = (1..=nuts).map(|i| format!("nut{i}")).collect();
    let mut corridor = vec!["shed".to_string()];
    corridor.extend((1..=inner).map(|i| format!("location{i}")));
    corridor.push("gate".to_string());
    facts.objects.push("bob - man".to_string());
    facts.objects.push(format!("{} - spanner", spanner_names.join(" ")));
    facts.objects.push(format!("{} - nut", nut_names.join(" ")));
    facts.objects.push(format!("{} - location", corridor.join(" ")));
    facts.init.push("at bob shed".to_string());
    for spanner in &spanner_names {
        facts.init.push(format!("at {spanner} location{}", random.random_range(1..=inner)));
        facts.init.push(format!("usable {spanner}"));
    }
    for nut in &nut_names {
        facts.init.push(format!("at {nut} gate"));
        facts.init.push(format!("loose {nut}"));
        facts.goal.push(format!("tightened {nut}"));
    }
    facts.init.extend(corridor.windows(2).map(|pair| format!("link {} {}", pair[0], pair[1])));
    facts
}
