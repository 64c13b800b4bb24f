#!/usr/bin/env python3
"""Five small domains that occur in no collection, four tasks each.

Nothing was tuned or trained on them: they are what "never seen" means.
`python3 experiments/own/generate.py` writes them below experiments/own, always the same.
"""

import pathlib
import random

HERE = pathlib.Path(__file__).parent

CANAL = """(define (domain canal)
  ; Boats go along a canal in which locks join reaches of different levels.
  (:requirements :strips :typing)
  (:types boat reach lock)
  (:predicates (at ?b - boat ?r - reach) (in ?b - boat ?l - lock) (free ?l - lock)
    (low ?l - lock) (high ?l - lock) (below ?r - reach ?l - lock) (above ?r - reach ?l - lock))
  (:action enter-low :parameters (?b - boat ?r - reach ?l - lock)
    :precondition (and (at ?b ?r) (below ?r ?l) (low ?l) (free ?l))
    :effect (and (not (at ?b ?r)) (not (free ?l)) (in ?b ?l)))
  (:action enter-high :parameters (?b - boat ?r - reach ?l - lock)
    :precondition (and (at ?b ?r) (above ?r ?l) (high ?l) (free ?l))
    :effect (and (not (at ?b ?r)) (not (free ?l)) (in ?b ?l)))
  (:action leave-low :parameters (?b - boat ?r - reach ?l - lock)
    :precondition (and (in ?b ?l) (below ?r ?l) (low ?l))
    :effect (and (at ?b ?r) (free ?l) (not (in ?b ?l))))
  (:action leave-high :parameters (?b - boat ?r - reach ?l - lock)
    :precondition (and (in ?b ?l) (above ?r ?l) (high ?l))
    :effect (and (at ?b ?r) (free ?l) (not (in ?b ?l))))
  (:action fill :parameters (?l - lock)
    :precondition (low ?l) :effect (and (high ?l) (not (low ?l))))
  (:action drain :parameters (?l - lock)
    :precondition (high ?l) :effect (and (low ?l) (not (high ?l)))))
"""

BAKERY = """(define (domain bakery)
  ; Doughs are mixed, rise, are baked in ovens of different heat and carried to counters.
  (:requirements :strips :typing :action-costs)
  (:types loaf bowl oven heat counter)
  (:predicates (clean ?b - bowl) (raw ?x - loaf) (rising ?x - loaf ?b - bowl)
    (risen ?x - loaf ?b - bowl) (baking ?x - loaf ?o - oven) (done ?x - loaf)
    (wants ?x - loaf ?h - heat) (hot ?o - oven ?h - heat) (empty ?o - oven)
    (next ?h ?k - heat) (on ?x - loaf ?c - counter) (dirty ?b - bowl))
  (:functions (total-cost) - number (heating ?o - oven) - number)
  (:action mix :parameters (?x - loaf ?b - bowl)
    :precondition (and (raw ?x) (clean ?b))
    :effect (and (not (raw ?x)) (not (clean ?b)) (rising ?x ?b) (increase (total-cost) 2)))
  (:action wait :parameters (?x - loaf ?b - bowl)
    :precondition (rising ?x ?b)
    :effect (and (not (rising ?x ?b)) (risen ?x ?b) (increase (total-cost) 1)))
  (:action bake :parameters (?x - loaf ?b - bowl ?o - oven ?h - heat)
    :precondition (and (risen ?x ?b) (wants ?x ?h) (hot ?o ?h) (empty ?o))
    :effect (and (not (risen ?x ?b)) (dirty ?b) (baking ?x ?o) (not (empty ?o))
      (increase (total-cost) 3)))
  (:action serve :parameters (?x - loaf ?o - oven ?c - counter)
    :precondition (baking ?x ?o)
    :effect (and (not (baking ?x ?o)) (empty ?o) (on ?x ?c) (done ?x)
      (increase (total-cost) 1)))
  (:action wash :parameters (?b - bowl)
    :precondition (dirty ?b)
    :effect (and (not (dirty ?b)) (clean ?b) (increase (total-cost) 2)))
  (:action heat :parameters (?o - oven ?h ?k - heat)
    :precondition (and (hot ?o ?h) (next ?h ?k) (empty ?o))
    :effect (and (not (hot ?o ?h)) (hot ?o ?k) (increase (total-cost) (heating ?o))))
  (:action cool :parameters (?o - oven ?h ?k - heat)
    :precondition (and (hot ?o ?k) (next ?h ?k) (empty ?o))
    :effect (and (not (hot ?o ?k)) (hot ?o ?h) (increase (total-cost) 1))))
"""

SHUNTING = """(define (domain shunting)
  ; A locomotive sorts wagons that stand one behind the other on dead-end tracks.
  (:requirements :strips :typing)
  (:types wagon track)
  (:predicates (last ?w - wagon ?t - track) (behind ?w ?v - wagon) (first ?w - wagon ?t - track)
    (bare ?t - track) (pulled ?w - wagon) (idle) (before ?t - track)
    (linked ?t ?u - track))
  (:action pull :parameters (?w ?v - wagon ?t - track)
    :precondition (and (before ?t) (idle) (last ?w ?t) (behind ?w ?v))
    :effect (and (pulled ?w) (not (idle)) (not (last ?w ?t)) (not (behind ?w ?v)) (last ?v ?t)))
  (:action pull-only :parameters (?w - wagon ?t - track)
    :precondition (and (before ?t) (idle) (last ?w ?t) (first ?w ?t))
    :effect (and (pulled ?w) (not (idle)) (not (last ?w ?t)) (not (first ?w ?t)) (bare ?t)))
  (:action push :parameters (?w ?v - wagon ?t - track)
    :precondition (and (before ?t) (pulled ?w) (last ?v ?t))
    :effect (and (idle) (not (pulled ?w)) (not (last ?v ?t)) (behind ?w ?v) (last ?w ?t)))
  (:action push-first :parameters (?w - wagon ?t - track)
    :precondition (and (before ?t) (pulled ?w) (bare ?t))
    :effect (and (idle) (not (pulled ?w)) (not (bare ?t)) (first ?w ?t) (last ?w ?t)))
  (:action move :parameters (?t ?u - track)
    :precondition (and (before ?t) (linked ?t ?u))
    :effect (and (not (before ?t)) (before ?u))))
"""

LIGHTS = """(define (domain lighthouses)
  ; Keepers row between lighthouses, carry oil from depots and light the lamps.
  (:requirements :strips :typing :action-costs)
  (:types place keeper)
  (:predicates (at ?k - keeper ?p - place) (joined ?p ?q - place) (depot ?p - place)
    (carries ?k - keeper) (without ?k - keeper) (dark ?p - place) (lit ?p - place)
    (needs-two ?p - place) (half ?p - place) (needs-one ?p - place))
  (:functions (total-cost) - number (way ?p ?q - place) - number)
  (:action row :parameters (?k - keeper ?p ?q - place)
    :precondition (and (at ?k ?p) (joined ?p ?q))
    :effect (and (not (at ?k ?p)) (at ?k ?q) (increase (total-cost) (way ?p ?q))))
  (:action load :parameters (?k - keeper ?p - place)
    :precondition (and (at ?k ?p) (depot ?p) (without ?k))
    :effect (and (not (without ?k)) (carries ?k) (increase (total-cost) 1)))
  (:action light :parameters (?k - keeper ?p - place)
    :precondition (and (at ?k ?p) (carries ?k) (dark ?p) (needs-one ?p))
    :effect (and (not (carries ?k)) (without ?k) (not (dark ?p)) (lit ?p)
      (increase (total-cost) 1)))
  (:action fill-half :parameters (?k - keeper ?p - place)
    :precondition (and (at ?k ?p) (carries ?k) (dark ?p) (needs-two ?p))
    :effect (and (not (carries ?k)) (without ?k) (not (dark ?p)) (half ?p)
      (increase (total-cost) 1)))
  (:action light-half :parameters (?k - keeper ?p - place)
    :precondition (and (at ?k ?p) (carries ?k) (half ?p))
    :effect (and (not (carries ?k)) (without ?k) (not (half ?p)) (lit ?p)
      (increase (total-cost) 1))))
"""

WEAVING = """(define (domain weaving)
  ; Looms are threaded with colours by shuttles, of which there are few; cloths need patterns.
  (:requirements :strips :typing)
  (:types cloth colour loom shuttle stage)
  (:predicates (holds ?s - shuttle ?c - colour) (spare ?s - shuttle)
    (fixed ?s - shuttle ?l - loom) (open ?l - loom) (on ?x - cloth ?l - loom) (waiting ?x - cloth)
    (at ?x - cloth ?g - stage) (then ?g ?k - stage) (asks ?x - cloth ?g - stage ?c - colour)
    (vacant ?l - loom))
  (:action wind :parameters (?s - shuttle ?c - colour)
    :precondition (spare ?s) :effect (and (not (spare ?s)) (holds ?s ?c)))
  (:action unwind :parameters (?s - shuttle ?c - colour)
    :precondition (holds ?s ?c) :effect (and (spare ?s) (not (holds ?s ?c))))
  (:action fix :parameters (?s - shuttle ?l - loom)
    :precondition (open ?l) :effect (and (not (open ?l)) (fixed ?s ?l)))
  (:action loosen :parameters (?s - shuttle ?l - loom)
    :precondition (fixed ?s ?l) :effect (and (open ?l) (not (fixed ?s ?l))))
  (:action mount :parameters (?x - cloth ?l - loom)
    :precondition (and (waiting ?x) (vacant ?l))
    :effect (and (not (waiting ?x)) (not (vacant ?l)) (on ?x ?l)))
  (:action unmount :parameters (?x - cloth ?l - loom)
    :precondition (on ?x ?l)
    :effect (and (waiting ?x) (vacant ?l) (not (on ?x ?l))))
  (:action weave :parameters (?x - cloth ?l - loom ?s - shuttle ?c - colour ?g ?k - stage)
    :precondition (and (on ?x ?l) (fixed ?s ?l) (holds ?s ?c) (at ?x ?g) (then ?g ?k)
      (asks ?x ?g ?c))
    :effect (and (not (at ?x ?g)) (at ?x ?k))))
"""


def write(folder, number, objects, init, goal, costs=False):
    metric = "\n  (:metric minimize (total-cost))" if costs else ""
    text = (f"(define (problem p{number}) (:domain {folder})\n  (:objects {objects})\n"
            f"  (:init {' '.join(init)})\n  (:goal (and {' '.join(goal)})){metric})\n")
    (HERE / folder / f"p{number}.pddl").write_text(text)


def names(letter, count):
    return [f"{letter}{i}" for i in range(1, count + 1)]


def canal(number, rng, boats, locks):
    reaches, doors, ships = names("r", locks + 1), names("l", locks), names("b", boats)
    init = [f"(free {l})" for l in doors] + [f"({rng.choice(['low', 'high'])} {l})" for l in doors]
    for i, l in enumerate(doors):
        init += [f"(below {reaches[i]} {l})", f"(above {reaches[i + 1]} {l})"]
    goal = []
    for b in ships:
        start, end = rng.sample(reaches, 2)
        init.append(f"(at {b} {start})")
        goal.append(f"(at {b} {end})")
    objects = f"{' '.join(ships)} - boat {' '.join(reaches)} - reach {' '.join(doors)} - lock"
    write("canal", number, objects, init, goal)


def bakery(number, rng, loaves, bowls, ovens):
    xs, bs, os, hs, cs = names("x", loaves), names("b", bowls), names("o", ovens), names("h", 3), names("c", 2)
    init = ["(= (total-cost) 0)"] + [f"(raw {x})" for x in xs] + [f"(clean {b})" for b in bs]
    init += [f"(next {a} {b})" for a, b in zip(hs, hs[1:])]
    for o in os:
        init += [f"(hot {o} {hs[0]})", f"(empty {o})", f"(= (heating {o}) {rng.randint(2, 6)})"]
    init += [f"(wants {x} {rng.choice(hs)})" for x in xs]
    goal = [f"(on {x} {rng.choice(cs)})" for x in xs]
    objects = " ".join(f"{' '.join(n)} - {t}" for n, t in
                       [(xs, "loaf"), (bs, "bowl"), (os, "oven"), (hs, "heat"), (cs, "counter")])
    write("bakery", number, objects, init, goal, costs=True)


def shunting(number, rng, wagons, tracks):
    ws, ts = names("w", wagons), names("t", tracks)

    def stacks(letters):
        heaps = {t: [] for t in ts}
        for w in rng.sample(letters, len(letters)):
            heaps[rng.choice(ts[:-1])].append(w)
        return heaps

    init = ["(idle)", f"(before {ts[0]})"]
    for a, b in zip(ts, ts[1:]):
        init += [f"(linked {a} {b})", f"(linked {b} {a})"]
    for t, heap in stacks(ws).items():
        init += [f"(first {heap[0]} {t})", f"(last {heap[-1]} {t})"] if heap else [f"(bare {t})"]
        init += [f"(behind {b} {a})" for a, b in zip(heap, heap[1:])]
    goal = []
    for t, heap in stacks(ws).items():
        goal += [f"(first {heap[0]} {t})"] if heap else []
        goal += [f"(behind {b} {a})" for a, b in zip(heap, heap[1:])]
    write("shunting", number, f"{' '.join(ws)} - wagon {' '.join(ts)} - track", init, goal)


def lighthouses(number, rng, places, keepers):
    ps, ks = names("p", places), names("k", keepers)
    init = ["(= (total-cost) 0)", f"(depot {ps[0]})"]
    joined = {(rng.randrange(i), i) for i in range(1, places)}
    while len(joined) < places + 1:
        a, b = sorted(rng.sample(range(places), 2))
        joined.add((a, b))
    for a, b in sorted(joined):
        way = rng.randint(1, 5)
        for p, q in [(ps[a], ps[b]), (ps[b], ps[a])]:
            init += [f"(joined {p} {q})", f"(= (way {p} {q}) {way})"]
    for k in ks:
        init += [f"(at {k} {rng.choice(ps)})", f"(without {k})"]
    lamps = rng.sample(ps[1:], min(places - 1, 3 + number))
    for p in lamps:
        init += [f"(dark {p})", f"({rng.choice(['needs-one', 'needs-two'])} {p})"]
    objects = f"{' '.join(ps)} - place {' '.join(ks)} - keeper"
    write("lighthouses", number, objects, init, [f"(lit {p})" for p in lamps], costs=True)


def weaving(number, rng, cloths, shuttles, stages):
    xs, cs, ls, ss, gs = names("x", cloths), names("c", 3), names("l", 2), names("s", shuttles), names("g", stages + 1)
    init = [f"(spare {s})" for s in ss] + [f"(open {l})" for l in ls] + [f"(vacant {l})" for l in ls]
    init += [f"(then {a} {b})" for a, b in zip(gs, gs[1:])]
    for x in xs:
        init += [f"(waiting {x})", f"(at {x} {gs[0]})"]
        init += [f"(asks {x} {g} {rng.choice(cs)})" for g in gs[:-1]]
    objects = " ".join(f"{' '.join(n)} - {t}" for n, t in
                       [(xs, "cloth"), (cs, "colour"), (ls, "loom"), (ss, "shuttle"), (gs, "stage")])
    write("weaving", number, objects, init, [f"(at {x} {gs[-1]})" for x in xs])


def main():
    domains = {"canal": CANAL, "bakery": BAKERY, "shunting": SHUNTING, "lighthouses": LIGHTS,
               "weaving": WEAVING}
    for folder, text in domains.items():
        (HERE / folder).mkdir(exist_ok=True)
        (HERE / folder / "domain.pddl").write_text(text)
    rng = random.Random(2011)
    for i, (boats, locks) in enumerate([(3, 3), (4, 4), (5, 4), (6, 5)], 1):
        canal(i, rng, boats, locks)
    for i, sizes in enumerate([(3, 2, 1), (4, 2, 2), (5, 2, 2), (6, 3, 2)], 1):
        bakery(i, rng, *sizes)
    for i, sizes in enumerate([(4, 3), (5, 3), (6, 4), (7, 4)], 1):
        shunting(i, rng, *sizes)
    for i, sizes in enumerate([(6, 1), (8, 2), (10, 2), (12, 3)], 1):
        lighthouses(i, rng, *sizes)
    for i, sizes in enumerate([(3, 2, 3), (4, 2, 3), (4, 3, 4), (5, 3, 4)], 1):
        weaving(i, rng, *sizes)


if __name__ == "__main__":
    main()
