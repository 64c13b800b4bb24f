//! Cars to be ferried between locations.
//!
//! With fewer cars than locations `empty-ferry` is a variable of its own, otherwise one variable
//! holds the ferry's whole content: the layouts go through fewer, equally many and more cars.
//! Solvable: the ferry reaches every location.

use rand::RngExt;

use super::{Facts, Random};

pub(super) fn facts(cars: usize, layout: usize, random: &mut Random) -> Facts {
    let locations = match layout % 4 {
        0 => cars + random.random_range(1..=3),
        1 => cars,
        2 => cars.saturating_sub(random.random_range(1..=1 + cars / 4)),
        _ => cars + 1,
    }
    .max(2);
    let mut facts = Facts::default();
    let car_names: Vec<String> = (1..=cars).map(|i| format!("car{i}")).collect();
    let location_names: Vec<String> = (1..=locations).map(|i| format!("loc{i}")).collect();
    facts.objects.push(format!("{} - car", car_names.join(" ")));
    facts.objects.push(format!("{} - location", location_names.join(" ")));
    facts.init.push("empty-ferry".to_string());
    let mut anywhere = || &location_names[random.random_range(0..locations)];
    facts.init.push(format!("at-ferry {}", anywhere()));
    for car in &car_names {
        facts.init.push(format!("at {car} {}", anywhere()));
        facts.goal.push(format!("at {car} {}", anywhere()));
    }
    facts
}
