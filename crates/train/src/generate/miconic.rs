//! Passengers of a lift. The IPC tasks have twice as many floors as passengers; other layouts have
//! fewer, so that floors are shared.
//! Solvable: the lift moves between any two floors, and every passenger has two different ones.

use rand::RngExt;

use super::{Facts, Random};

pub(super) fn facts(passengers: usize, layout: usize, random: &mut Random) -> Facts {
    let floors = match layout % 3 {
        0 => random.random_range(passengers.div_ceil(2) + 1..=2 * passengers + 1),
        _ => 2 * passengers,
    }
    .max(2);
    let mut facts = Facts::default();
    let passenger_names: Vec<String> = (0..passengers).map(|i| format!("p{i}")).collect();
    let floor_names: Vec<String> = (0..floors).map(|i| format!("f{i}")).collect();
    facts.objects.push(passenger_names.join(" "));
    facts.objects.push(floor_names.join(" "));
    facts.init.extend(passenger_names.iter().map(|p| format!("passenger {p}")));
    facts.init.extend(floor_names.iter().map(|f| format!("floor {f}")));
    for (below, floor) in floor_names.iter().enumerate() {
        facts
            .init
            .extend(floor_names[below + 1..].iter().map(|above| format!("above {floor} {above}")));
    }
    for passenger in &passenger_names {
        let origin = random.random_range(0..floors);
        let destination = (origin + random.random_range(1..floors)) % floors;
        facts.init.push(format!("origin {passenger} f{origin}"));
        facts.init.push(format!("destin {passenger} f{destination}"));
        facts.goal.push(format!("served {passenger}"));
    }
    facts.init.push(format!("lift-at f{}", random.random_range(0..floors)));
    facts
}
