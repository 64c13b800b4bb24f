//! Packages between the locations of several cities.
//!
//! Layouts: as in logistics00 (one truck and two locations a city, few cities), and as in
//! logistics98 (many cities, one or several trucks a city, one to four locations a city).
//! Solvable: every city has an airport and a truck, and there is an airplane.

use rand::RngExt;

use super::{Facts, Random};

pub(super) fn facts(packages: usize, layout: usize, random: &mut Random) -> Facts {
    let wide = !layout.is_multiple_of(2);
    let crowded = layout % 4 == 3;
    let cities = if wide && !crowded {
        random.random_range(2..=packages + 3)
    } else {
        random.random_range(2..=2.max(packages / 3 + 2))
    };
    let places = if wide { random.random_range(1..=3) } else { 2 };
    let airplanes = random.random_range(1..=if wide { 3 } else { 1 + packages / 5 });

    let mut facts = Facts::default();
    let mut objects = Vec::new();
    let mut declare = |facts: &mut Facts, kind: &str, name: &str| {
        facts.init.push(format!("{kind} {name}"));
        if kind != "airport" {
            objects.push(name.to_string());
        }
    };
    let mut locations = Vec::new();
    let mut airports = Vec::new();
    let mut vehicles = Vec::new();
    for city in 1..=cities {
        declare(&mut facts, "city", &format!("cit{city}"));
        let here = locations.len();
        let size = if wide { random.random_range(1..=places + 1) } else { places };
        for place in 1..=size {
            let name = if place == 1 { format!("apt{city}") } else { format!("pos{city}-{place}") };
            declare(&mut facts, "location", &name);
            if place == 1 {
                declare(&mut facts, "airport", &name);
                airports.push(name.clone());
            }
            facts.init.push(format!("in-city {name} cit{city}"));
            locations.push(name);
        }
        let trucks = if crowded {
            random.random_range(1..=4)
        } else {
            1 + usize::from(wide && random.random_bool(0.2))
        };
        for truck in 1..=trucks {
            let name = format!("tru{city}-{truck}");
            declare(&mut facts, "truck", &name);
            vehicles.push((name, locations[random.random_range(here..locations.len())].clone()));
        }
    }
    for airplane in 1..=airplanes {
        let name = format!("apn{airplane}");
        declare(&mut facts, "airplane", &name);
        vehicles.push((name, airports[random.random_range(0..cities)].clone()));
    }
    facts.init.extend(vehicles.iter().map(|(vehicle, at)| format!("at {vehicle} {at}")));
    for package in 1..=packages {
        let name = format!("obj{package}");
        declare(&mut facts, "package", &name);
        let mut anywhere = || &locations[random.random_range(0..locations.len())];
        facts.init.push(format!("at {name} {}", anywhere()));
        facts.goal.push(format!("at {name} {}", anywhere()));
    }
    facts.objects = objects;
    facts
}
