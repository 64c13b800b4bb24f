//! Random towers. The goal is one tower of all blocks, as in every IPC task, or (every third
//! layout) several towers of a part of the blocks.
//! Solvable: any arrangement of blocks can be reached from any other.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::{Facts, Random};

pub(super) fn facts(blocks: usize, layout: usize, random: &mut Random) -> Facts {
    let mut facts = Facts::default();
    let mut names: Vec<String> = (1..=blocks).map(|i| format!("b{i}")).collect();
    facts.objects.push(names.join(" "));
    facts.init.push("handempty".to_string());
    names.shuffle(random);
    for tower in towers(&names, random) {
        facts.init.push(format!("ontable {}", tower[0]));
        facts.init.extend(tower.windows(2).map(|pair| format!("on {} {}", pair[1], pair[0])));
        facts.init.push(format!("clear {}", tower[tower.len() - 1]));
    }
    facts.init.sort();
    names.shuffle(random);
    let one_tower = !layout.is_multiple_of(3);
    let mentioned = if one_tower { blocks } else { random.random_range(blocks / 2 + 1..=blocks) };
    let goal_towers =
        if one_tower { vec![&names[..]] } else { towers(&names[..mentioned], random) };
    for tower in goal_towers {
        facts.goal.extend(tower.windows(2).map(|pair| format!("on {} {}", pair[1], pair[0])));
    }
    facts
}

/// Cuts a sequence of blocks into towers, bottom first.
fn towers<'a>(blocks: &'a [String], random: &mut Random) -> Vec<&'a [String]> {
    let mut towers = Vec::new();
    let mut bottom = 0;
    for above in 1..=blocks.len() {
        if above == blocks.len() || random.random_bool(0.4) {
            towers.push(&blocks[bottom..above]);
            bottom = above;
        }
    }
    towers
}
