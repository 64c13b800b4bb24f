//! A robot on a grid that must visit all or about half of the places.
//! The IPC's grids are square and complete; unless asked for such grids, every fourth layout is a
//! rectangle with holes.
//! Solvable: the grid is connected in both directions.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::{Facts, Grids, Random};

type Place = (usize, usize);

pub(super) fn facts(side: usize, layout: usize, grids: Grids, random: &mut Random) -> Facts {
    let irregular = layout % 4 == 3 && !grids.whole;
    let height =
        if irregular { (side + random.random_range(0..=2)).saturating_sub(1).max(2) } else { side };
    let mut places: Vec<Place> = (0..side).flat_map(|x| (0..height).map(move |y| (x, y))).collect();
    if irregular {
        let holes = random.random_range(0..=places.len() / 5);
        for _ in 0..holes {
            let removed = places.remove(random.random_range(0..places.len()));
            if !is_connected(&places) {
                places.push(removed);
                places.sort();
            }
        }
    }
    let start = match layout % 3 {
        0 => places[random.random_range(0..places.len())],
        _ => places[places.len() / 2],
    };
    let mut wanted = places.clone();
    if !grids.goals.map_or(layout.is_multiple_of(2), |percent| percent == 100) {
        wanted.shuffle(random);
        let percent = grids.goals.unwrap_or_else(|| random.random_range(40..=70));
        wanted.truncate(places.len() * percent / 100);
        if wanted.is_empty() || wanted == [start] {
            wanted = places.clone();
        }
        wanted.sort();
    }
    let mut facts = Facts::default();
    let names: Vec<String> = places.iter().map(|&place| name(place)).collect();
    facts.objects.push(format!("{} - place", names.join(" ")));
    facts.init.push(format!("at-robot {}", name(start)));
    facts.init.push(format!("visited {}", name(start)));
    for &place in &places {
        let neighbours = places.iter().filter(|&&other| adjacent(place, other));
        facts
            .init
            .extend(neighbours.map(|&other| format!("connected {} {}", name(place), name(other))));
    }
    facts.goal = wanted.iter().map(|&place| format!("visited {}", name(place))).collect();
    facts
}

fn name((x, y): Place) -> String {
    format!("loc-x{x}-y{y}")
}

fn adjacent(a: Place, b: Place) -> bool {
    a.0.abs_diff(b.0) + a.1.abs_diff(b.1) == 1
}

fn is_connected(places: &[Place]) -> bool {
    let mut reached = vec![places[0]];
    let mut next = 0;
    while next < reached.len() {
        let here = reached[next];
        next += 1;
        for &place in places {
            if adjacent(here, place) && !reached.contains(&place) {
                reached.push(place);
            }
        }
    }
    reached.len() == places.len()
}
