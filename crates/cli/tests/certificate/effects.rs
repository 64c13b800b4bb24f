//! Several effects of one operator on one variable, in `.sas` files: which of them counts, for the
//! reader, the search, the check of plans and the verifier.

use planner::task::Cost;
use planner::translate::sas;
use verify::verify;

use super::every_heuristic::heuristics;
use super::{certify, compress, cost, proved};

/// A variable `v` with values a and b, goal b, and `w` with three values, from 0 to be brought to 2.
fn task(operators: &[(&str, &[&str], Cost)]) -> String {
    let mut text = String::from(
        "begin_version\n3\nend_version\nbegin_metric\n1\nend_metric\n2\n\
         begin_variable\nv\n-1\n2\nAtom a()\nAtom b()\nend_variable\n\
         begin_variable\nw\n-1\n3\nAtom c()\nAtom d()\nAtom e()\nend_variable\n0\n\
         begin_state\n0\n0\nend_state\nbegin_goal\n2\n0 1\n1 2\nend_goal\n",
    );
    text += &format!("{}\n", operators.len());
    for (name, effects, cost) in operators {
        text += &format!("begin_operator\n{name}\n0\n{}\n", effects.len());
        effects.iter().for_each(|effect| text += &format!("{effect}\n"));
        text += &format!("{cost}\nend_operator\n");
    }
    text + "0\n"
}

#[test]
fn the_last_effect_that_happens_counts() {
    // An operator that brings w to its goal, at cost 1.
    let finish: (&str, &[&str], Cost) = ("finish", &["0 1 -1 2"], 1);
    let unsolvable: [&[&str]; 5] = [
        // b is taken back by an effect that gives v the value it has before: no effect at all.
        &["0 0 0 1", "0 0 0 0"],
        &["0 0 -1 1", "0 0 -1 0"],
        &["0 0 -1 1", "0 0 0 0"],
        // The same after an effect with a condition that holds.
        &["1 1 0 0 -1 1", "0 0 0 0"],
        &["0 0 0 1", "1 1 0 0 -1 1", "0 0 0 1", "0 0 0 0"],
    ];
    for effects in unsolvable {
        check(&task(&[("act", effects, 3), finish]), None);
    }
    let solvable: [&[&str]; 5] = [
        &["0 0 0 0", "0 0 0 1"],
        &["0 0 -1 0", "0 0 -1 1"],
        &["0 0 0 0", "1 1 0 0 -1 1"],
        &["1 1 0 0 -1 0", "0 0 0 1"],
        // An effect with a condition that does not hold takes nothing back.
        &["0 0 0 1", "1 1 1 0 -1 0"],
    ];
    for effects in solvable {
        check(&task(&[("act", effects, 3), finish]), Some(4));
    }
    // To get rid of w = 1 it takes the more expensive way: the cheap one is taken back.
    let cheap: (&str, &[&str], Cost) = ("cheap", &["0 1 -1 2", "0 0 -1 1", "0 1 -1 1"], 1);
    let step: (&str, &[&str], Cost) = ("step", &["0 1 1 2"], 5);
    let jump: (&str, &[&str], Cost) = ("jump", &["0 1 -1 0", "0 0 -1 1", "0 1 -1 2"], 7);
    check(&task(&[cheap, step, jump]), Some(6));
    check(&task(&[cheap, jump]), Some(7));
    check(&task(&[cheap]), None);
}

fn check(text: &str, optimum: Option<Cost>) {
    let task = sas::read(text).unwrap();
    for (name, mut heuristic) in heuristics(&task) {
        let certified = certify(&task, &mut *heuristic);
        assert_eq!(cost(&certified.bounds), optimum, "{name}\n{text}");
        let verdict = verify(text, &compress(&certified.bytes)[..])
            .unwrap_or_else(|refusal| panic!("{name}: {refusal}\n{text}"));
        assert_eq!(proved(&verdict), optimum, "{name}\n{text}");
    }
    // What is written means the same.
    let written = sas::write(&task);
    let again = sas::read(&written).unwrap();
    assert_eq!(sas::write(&again), written);
    if task.operators.iter().all(|o| !o.eff.is_empty() || !o.conditional.is_empty()) {
        assert_eq!(again.operators, task.operators);
    }
}

/// Fast Downward refuses operators without effects.
#[test]
fn operators_that_change_nothing_are_written_with_an_effect() {
    for (effects, written) in [
        (&["0 0 0 1", "0 0 0 0"][..], "\n0\n1\n0 0 0 0\n1\n"),
        (&[], "\n0\n1\n1 0 0 0 -1 0\n1\n"),
        (&["1 1 2 1 -1 2"], "\n0\n1\n1 1 2 1 -1 2\n1\n"),
        // It changes something: what is before it does.
        (&["1 0 0 1 -1 1", "1 1 0 1 -1 0"], "\n0\n2\n1 0 0 1 -1 1\n1 1 0 1 -1 0\n1\n"),
    ] {
        let read = sas::read(&task(&[("act", effects, 1)])).unwrap();
        let text = sas::write(&read);
        assert!(text.contains(&format!("begin_operator\nact{written}end_operator")), "{text}");
        // An effect with a void condition stays, so what is written is read as the same text.
        let again = sas::read(&text).unwrap();
        assert_eq!(sas::write(&again), text);
        assert!(!read.operators[0].eff.is_empty() || again.operators[0].eff.is_empty());
    }
}
