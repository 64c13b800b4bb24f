"""Figures of wlplan for the comparison in ../wlplan.rs.

Needs wlplan 2.1.0 and fast-downward.translate 26.6.0 (both from PyPI).
Usage: python3 figures.py DOMAIN.pddl PROBLEM.pddl [DOMAIN.pddl PROBLEM.pddl ...]

wlplan is given what the paper's AOAG of the initial state is made of: the objects, the true fluent
atoms and the goal atoms of the translated task, and *all* of its ground actions.
Prints one line per task: domain, problem, nodes, edges (wlplan stores each in both directions;
here it counts once), colours of iterations 0, 1, 2, 3 (set semantics, no pruning).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from wlplan.data import DomainDataset, ProblemDataset
from wlplan.feature_generator import init_feature_generator
from wlplan.graph_generator import init_graph_generator
from wlplan.planning import Action, Atom, Domain, Predicate, Problem, Schema, State

ITERATIONS = 3


def translate(domain, problem):
    """Values of each variable, initial state, goal facts and operator names of the FDR task."""
    with tempfile.TemporaryDirectory() as folder:
        sas = Path(folder) / "task.sas"
        command = [sys.executable, "-m", "fast_downward.translate", domain, problem]
        subprocess.run([*command, "--sas-file", sas], check=True, stdout=subprocess.DEVNULL)
        lines = sas.read_text().split("\n")
    at = lines.index("end_metric") + 1
    count = int(lines[at])
    at += 1
    variables = []
    for _ in range(count):
        size = int(lines[at + 3])
        variables.append(lines[at + 4 : at + 4 + size])
        at += 5 + size
    at = lines.index("begin_state") + 1
    state = [int(line) for line in lines[at : at + count]]
    at = lines.index("begin_goal") + 1
    goal = [tuple(map(int, line.split())) for line in lines[at + 1 : at + 1 + int(lines[at])]]
    operators = [lines[i + 1].split() for i, line in enumerate(lines) if line == "begin_operator"]
    return variables, state, goal, operators


def split(name):
    """`Atom on(a, b)` as ("on", ["a", "b"])."""
    predicate, _, rest = name.split(" ", 1)[1].partition("(")
    return predicate, [arg.strip() for arg in rest.rstrip(")").split(",") if arg.strip()]


def figures(domain, problem):
    variables, state, goal, operators = translate(domain, problem)
    atoms = [split(name) for values in variables for name in values if "(" in name]
    predicates = {name: Predicate(name, len(args)) for name, args in atoms}
    schemas = {name: Schema(name, len(args)) for name, *args in operators}
    objects = {arg for _, args in atoms for arg in args}
    objects |= {arg for _, *args in operators for arg in args}
    by_name = lambda symbols: sorted(symbols.values(), key=lambda symbol: symbol.name)
    lifted = Domain(
        name="domain",
        predicates=by_name(predicates),
        functions=[],
        schemata=by_name(schemas),
        constant_objects=[],
    )

    def true_atoms(facts):
        names = [variables[var][value] for var, value in facts]
        found = [split(name) for name in names if name.startswith("Atom ")]
        return [Atom(predicates[name], args) for name, args in found]

    task = Problem(
        domain=lifted,
        objects=sorted(objects),
        positive_goals=true_atoms(goal),
        negative_goals=[],
    )
    wl_state = State(true_atoms(enumerate(state)))
    actions = [Action(schemas[name], args) for name, *args in operators]

    generator = init_graph_generator("aoag", lifted)
    generator.set_problem(task)
    graph = generator.to_graph(wl_state, actions)
    features = init_feature_generator("wl", lifted, "aoag", ITERATIONS, "none", False)
    features.collect(DomainDataset(lifted, [ProblemDataset(task, [wl_state], [actions])]))
    edges = sum(len(neighbours) for neighbours in graph.edges)
    assert edges % 2 == 0
    return [len(graph.node_colours), edges // 2, *features.get_layer_to_n_colours()]


if __name__ == "__main__":
    arguments = sys.argv[1:]
    for domain, problem in zip(arguments[::2], arguments[1::2]):
        numbers = map(str, figures(domain, problem))
        print(",".join([Path(domain).parent.name, Path(problem).name, *numbers]))
