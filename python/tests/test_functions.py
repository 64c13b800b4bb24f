"""The functions: results, exceptions, limits."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import apportion
from apportion import Action, Phase, Progress, Status

Task = tuple[Path, Path]

TYPO = "(define (problem p) (:domain workshop)\n  (:init (robot-inn hall))\n  (:goal (and)))"


def test_an_optimal_plan_of_files_and_of_text(courier: Task) -> None:
    by_path = apportion.plan(*courier)
    by_text = apportion.plan(*(path.read_text() for path in courier))
    for result in (by_path, by_text):
        assert result.status is Status.SOLVED and result.is_solved
        assert (result.cost, result.bound) == (70, 70)
        assert result.plan is not None and len(result.plan) == 10
        assert result.plan[0] == Action("drive", ("market", "depot"))
        assert result.statistics["expanded"] > 0
        assert result.certificate is None
        assert apportion.validate(*courier, result.plan).cost == 70
    assert by_path.plan_text().startswith("(drive market depot)\n")
    assert not Path("sas_plan").exists()


def test_a_problem_alone_finds_its_domain(courier: Task) -> None:
    assert apportion.plan(courier[1]).cost == 70


def test_a_task_in_another_format(courier: Task, tmp_path: Path) -> None:
    translation = apportion.translate(*courier)
    assert translation.sizes["variables"] == 3
    file = tmp_path / "task.sas"
    file.write_text(translation.text)
    assert apportion.plan(file).cost == 70
    assert apportion.plan(translation.text).cost == 70


def test_every_heuristic_finds_the_same_cost(courier: Task) -> None:
    for heuristic in ("blind", "lmcut", "scp", "ocp", "auto"):
        assert apportion.plan(*courier, heuristic=heuristic).cost == 70


def test_there_is_no_plan(examples: Path) -> None:
    result = apportion.plan(examples / "greenhouse/dry.pddl")
    assert result.status is Status.UNSOLVABLE
    assert result.plan is None
    with pytest.raises(ValueError, match="unsolvable"):
        result.plan_text()


def test_limits_are_results(hard: tuple[str, str]) -> None:
    late = apportion.plan(*hard, heuristic="blind", time_limit=0.5)
    assert late.status is Status.OUT_OF_TIME
    assert 0.4 < late.statistics["total_s"] < 2
    assert late.bound is not None and late.bound > 0
    full = apportion.plan(*hard, heuristic="blind", memory_limit="60MiB", time_limit=60)
    assert full.status is Status.OUT_OF_MEMORY


def test_progress_is_told_in_order(hard: tuple[str, str]) -> None:
    seen: list[Progress] = []
    result = apportion.plan(*hard, heuristic="blind", time_limit=1.5, on_progress=seen.append)
    assert tuple(seen) == result.progress
    assert {line.phase for line in seen} >= {Phase.PREPROCESS, Phase.SEARCH}
    bounds = [line.bound for line in seen if line.bound is not None]
    assert bounds == sorted(bounds) and len(set(bounds)) > 3
    assert [line.seconds for line in seen] == sorted(line.seconds for line in seen)
    assert seen[-1].expanded == result.statistics["expanded"]


def test_errors_say_where_and_what_to_do(examples: Path) -> None:
    domain = examples / "workshop/domain.pddl"
    with pytest.raises(apportion.InputError) as caught:
        apportion.plan(domain, TYPO)
    error = caught.value
    assert (error.file, error.line, error.column) == ("<problem>", 2, 11)
    assert error.message == "undeclared predicate `robot-inn`"
    assert error.hint == "did you mean `robot-in`?"
    assert error.expected is not None and error.exit_code == 31
    assert str(error).startswith("<problem>:2:11: undeclared")
    for function in (apportion.translate, apportion.evaluate):
        with pytest.raises(apportion.InputError) as caught:
            function(domain, TYPO)
        assert caught.value.line == 2
    with pytest.raises(apportion.InputError, match="cannot read") as caught:
        apportion.plan(domain, "missing.pddl")
    assert caught.value.file == "missing.pddl"


def test_a_file_may_have_any_name(courier: Task, tmp_path: Path) -> None:
    domain = tmp_path / "domain (1).pddl"
    problem = tmp_path / "two parcels (copy).pddl"
    domain.write_text(courier[0].read_text())
    problem.write_text(courier[1].read_text())
    assert apportion.plan(str(domain), str(problem)).cost == 70
    text = "; a comment (first)\n" + problem.read_text()
    assert apportion.plan(str(domain), text).cost == 70
    with pytest.raises(apportion.InputError) as caught:
        apportion.plan(str(domain), "parcels (2).pddl")
    assert caught.value.file == "parcels (2).pddl"


def test_unsupported_constructs_are_named() -> None:
    domain = "(define (domain d) (:predicates (p))\n (:durative-action a :parameters ()))"
    with pytest.raises(apportion.UnsupportedError) as caught:
        apportion.plan(domain, "(define (problem p) (:domain d) (:init) (:goal (p)))")
    assert caught.value.file == "<domain>" and caught.value.line == 2


def test_options_are_checked(courier: Task) -> None:
    with pytest.raises(apportion.OptionError, match="possible values"):
        apportion.plan(*courier, heuristic="best")
    with pytest.raises(ValueError, match="--steps"):
        apportion.plan(*courier, options=["--steps", "5"])
    with pytest.raises(ValueError, match="0 seconds"):
        apportion.plan(*courier, time_limit=0)


def test_a_certificate_and_its_check(courier: Task, tmp_path: Path) -> None:
    seen: list[Progress] = []
    file = tmp_path / "proof"
    result = apportion.plan(
        *courier, certificate=file, options=["--certified"], on_progress=seen.append
    )
    assert result.certificate == file and file.stat().st_size > 0
    assert result.statistics["verified"] is True
    assert {line.phase for line in seen} >= {Phase.CERTIFY, Phase.VERIFY}


def test_what_a_newer_program_says_is_no_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = {"seconds": 0, "phase": "dream", "lower_bound": None, "news": 1}
    line |= {"expanded": 0, "evaluated": 0, "memory_bytes": 0}
    report = {"status": "enlightened", "plan": None, "cost": None, "lower_bound": 7, "notes": []}
    program = tmp_path / "apportion"
    program.write_text(
        "#!/bin/sh\nwhile [ \"$1\" != --progress ]; do shift; done\n"
        f"echo '{json.dumps(line)}' > \"$2\"\necho '{json.dumps(report)}'\nexit 99\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("APPORTION", str(program))
    seen: list[Progress] = []
    result = apportion.plan("task.sas", on_progress=seen.append)
    assert result.status is apportion.Status.UNKNOWN and result.bound == 7
    assert result.statistics["status"] == "enlightened"
    assert [line.phase for line in seen] == [Phase.UNKNOWN]
    assert "unknown" in result._repr_html_()


def test_names_of_files_are_no_options(
    courier: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text("mine")
    shutil.copy(courier[0], "--certificate=x")
    shutil.copy(courier[1], "--json")
    assert apportion.plan("--certificate=x", "--json", certificate="-proof").cost == 70
    assert (tmp_path / "x").read_text() == "mine" and (tmp_path / "-proof").exists()
    assert apportion.translate("--certificate=x", "--json").text.startswith("begin_version")
    assert len(apportion.evaluate("--certificate=x", "--json", heuristics=["blind"])) == 1
    Path("-p").write_text(apportion.plan(*courier).plan_text())
    assert apportion.validate("--certificate=x", "--json", "-p").cost == 70
    with pytest.raises(apportion.InputError):
        apportion.plan("--certificate=y", courier[1])
    assert not (tmp_path / "y").exists()


def test_an_infinite_time_limit_is_none(courier: Task) -> None:
    result = apportion.plan(*courier, time_limit=math.inf)
    assert result.is_solved and result.statistics["time_limit_s"] is None


def test_a_program_that_is_not_there(courier: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion._program._candidates", lambda: iter([Path("/nowhere")]))
    with pytest.raises(apportion.ProgramError, match="not installed"):
        apportion.plan(*courier)


def test_a_plan_that_fails(courier: Task) -> None:
    plan = apportion.plan(*courier).plan
    assert plan is not None
    verdict = apportion.validate(*courier, plan[1:])
    assert not verdict and verdict.step == 1
    assert verdict.message is not None and "precondition" in verdict.message
    empty = apportion.validate(*courier, [])
    assert not empty and empty.step is None
    assert empty.message is not None and "goal" in empty.message


def test_values_of_heuristics(courier: Task) -> None:
    states = apportion.evaluate(*courier, heuristics=["scp", "blind", "ocp"], states=3, seed=7)
    assert len(states) == 3
    first = states[0].h
    assert list(first) == ["scp", "blind", "ocp"]
    assert first["ocp"] == 70 and first["blind"] == 0
    assert len(states[0].values) == 3


def test_values_of_given_states(courier: Task, tmp_path: Path) -> None:
    walks = apportion.evaluate(*courier, heuristics=["scp"], states=5, seed=7)
    states = [evaluation.values for evaluation in walks]
    assert apportion.evaluate(*courier, heuristics=["scp"], states=states) == walks
    path = tmp_path / "states.jsonl"
    path.write_text("\n".join(json.dumps({"values": state}) for state in states))
    assert apportion.evaluate(*courier, heuristics=["scp"], states=path) == walks
    for wrong, said in ([0], "1 values for 3 variables"), ([0, 0, 99], "and no 99"):
        with pytest.raises(apportion.InputError, match=f"<states>:1: .*{said}"):
            apportion.evaluate(*courier, states=[wrong])
    with pytest.raises(apportion.OptionError):
        apportion.evaluate(*courier, states=states, seed=3)


def test_samples_judgements_and_explanations(courier: Task, tmp_path: Path) -> None:
    tasks = apportion.generate("ferry", tmp_path / "tasks", size="2-3", count=2, seed=9)
    assert len(tasks) == 2
    domain = tmp_path / "tasks/domain.pddl"
    samples = apportion.sample(domain, tasks, tmp_path / "ferry.samples", per_task=3)
    model = Path(__file__).resolve().parents[2] / "models/ferry.safetensors"
    (judged,) = apportion.judge(model, samples, options=["--leave-out-seen"])
    assert judged
    values = apportion.evaluate(domain, tasks[0], heuristics=["lcp", "ocp"], model=model)
    assert values[0].h["lcp"] is not None and values[0].h["ocp"] is not None
    assert values[0].h["lcp"] <= values[0].h["ocp"]
    page = tmp_path / "page.html"
    assert "van-at" in apportion.explain(*courier, page=page, time_limit=20)
    assert page.read_text().startswith("<!")


def test_an_experiment_is_run_and_read(courier: Task, tmp_path: Path) -> None:
    config = tmp_path / "small.toml"
    config.write_text(
        f"""name = "small"
results = "results"
limits = {{ time = "${{time}}", memory = "1GiB" }}
[parameters]
time = "1s"
[[tasks]]
domain = "courier"
files = "{courier[1]}"
[[configurations]]
name = "blind"
arguments = ["--heuristic", "blind"]
"""
    )
    results = tmp_path / "found"
    (record,) = apportion.experiment(config, results, jobs=1, parameters={"time": "20s"})
    assert (record["status"], record["result"]["cost"], record["time_limit_s"]) == ("solved", 70, 20)


def test_a_model_is_trained_and_used(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    apportion.generate("ferry", tasks, size="2-4", count=6)
    run = tmp_path / "run"
    training = apportion.train(
        tasks / "domain.pddl", tasks, run, time_limit=60, options=["--epochs", "2"]
    )
    assert training.model.is_file() and len(training.epochs) == 2
    task = sorted(path for path in tasks.glob("*.pddl") if path.name != "domain.pddl")[0]
    learned = apportion.plan(tasks / "domain.pddl", task, heuristic="lcp", model=training.model)
    assert learned.cost == apportion.plan(tasks / "domain.pddl", task).cost


def test_import_is_quick() -> None:
    code = "import time; t = time.perf_counter(); import apportion; print(time.perf_counter() - t)"
    times = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        times.append(float(done.stdout))
    assert min(times) < 0.2


def test_versions_agree() -> None:
    from importlib.metadata import version

    assert apportion.version() == version("apportion")


@pytest.fixture
def winding(courier: Task) -> list[Action]:
    """A plan with a detour at its beginning."""
    plan = apportion.plan(*courier).plan
    assert plan is not None
    there, back = Action("drive", ("market", "depot")), Action("drive", ("depot", "market"))
    return [there, back, *plan]


def test_a_plan_to_begin_with_and_a_gap(courier: Task, winding: list[Action]) -> None:
    worse = apportion.validate(*courier, winding).cost
    assert worse is not None and worse > 70
    any_plan = apportion.plan(*courier, gap=math.inf, start_plan=winding)
    assert any_plan.status is Status.BOUNDED and not any_plan.is_solved
    assert any_plan.cost == worse and any_plan.gap is None and any_plan.bound == 0
    assert any_plan.best is not None and any_plan.best.cost == worse
    assert list(any_plan.best.plan) == winding and any_plan.best.text() == any_plan.plan_text()
    best = apportion.plan(*courier, start_plan=winding)
    assert best.is_solved and best.gap == 0
    assert [found.cost for found in best.plans][0] == worse and best.plans[-1].cost == 70
    for gap in (-0.1, math.nan, "five"):
        with pytest.raises(apportion.OptionError):
            apportion.plan(*courier, gap=gap)
    with pytest.raises(apportion.InputError, match="the goal"):
        apportion.plan(*courier, start_plan=winding[:3])


def test_better_plans_are_files(courier: Task, winding: list[Action], tmp_path: Path) -> None:
    result = apportion.plan(*courier, start_plan=winding, anytime=tmp_path / "plan")
    costs = []
    for number in range(1, len(result.plans) + 1):
        costs.append(apportion.validate(*courier, tmp_path / f"plan.{number}").cost)
    assert costs == [found.cost for found in result.plans] and costs[-1] == 70
    assert not (tmp_path / "plan").exists()


def test_a_limit_leaves_the_best_plan(hard: tuple[str, str]) -> None:
    first = apportion.plan(*hard, gap=math.inf)
    assert first.plan is not None
    seen: list[Progress] = []
    late = apportion.plan(
        *hard, heuristic="blind", start_plan=first.plan, time_limit=1.5, on_progress=seen.append
    )
    assert late.status is Status.OUT_OF_TIME and late.plan is None and late.cost is None
    assert late.best is not None and late.best.cost == first.cost
    assert late.bound is not None and late.bound > 0 and late.gap is not None
    assert late.gap >= (late.best.cost - late.bound) / late.bound - 1e-9
    assert seen[-1].best_cost == late.best.cost and seen[-1].gap == late.gap
    html = late._repr_html_()
    assert "above the optimum" in html and "best plan so far" in html
