"""Optimal classical planning: ``apportion.plan("domain.pddl", "problem.pddl")``.

Every function takes files, or PDDL as text, and runs the ``apportion`` program that comes with this
package; ``apportion help`` on the command line is the same program.
"""

from apportion._errors import (
    ApportionError,
    InputError,
    OptionError,
    ProgramError,
    UnsupportedError,
)
from apportion._functions import (
    evaluate,
    experiment,
    explain,
    generate,
    judge,
    plan,
    sample,
    train,
    translate,
    validate,
)
from apportion._program import program, version
from apportion._results import (
    Action,
    Best,
    Evaluation,
    Found,
    Phase,
    Progress,
    Result,
    Status,
    Training,
    Translation,
    Validation,
)

__all__ = [
    "Action",
    "ApportionError",
    "Best",
    "Evaluation",
    "Found",
    "InputError",
    "OptionError",
    "Phase",
    "ProgramError",
    "Progress",
    "Result",
    "Status",
    "Training",
    "Translation",
    "UnsupportedError",
    "Validation",
    "evaluate",
    "experiment",
    "explain",
    "generate",
    "judge",
    "plan",
    "program",
    "sample",
    "train",
    "translate",
    "validate",
    "version",
]
