"""What can go wrong; being out of time or memory is a result, no error."""

from __future__ import annotations


class ApportionError(Exception):
    """What went wrong, and where in which file if that is known.

    ``str(error)`` is the whole report, with the line of the file and a caret.
    """

    def __init__(
        self,
        text: str,
        *,
        message: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        expected: str | None = None,
        hint: str | None = None,
        exit_code: int | None = None,
    ) -> None:
        super().__init__(text)
        #: What is wrong, in one sentence.
        self.message = message if message is not None else text
        #: The file as it was given; ``<domain>``, ``<problem>`` or ``<plan>`` for text.
        self.file = file
        #: Line and column, counted from one.
        self.line = line
        self.column = column
        #: What would have been right, where that can be said.
        self.expected = expected
        #: How to mend it, where that can be guessed.
        self.hint = hint
        #: The exit code of the program; a negative one is the signal that ended it.
        self.exit_code = exit_code


class InputError(ApportionError):
    """A file cannot be read, or is malformed."""


class UnsupportedError(ApportionError):
    """The task uses a construct that the planner does not support."""


class OptionError(ApportionError, ValueError):
    """An option makes no sense, alone or with others, or names a file that cannot be written."""


class ProgramError(ApportionError):
    """The program is not there, failed, or was ended from outside."""


#: Exit codes of the program that blame what it was given.
BY_EXIT_CODE: dict[int, type[ApportionError]] = {
    31: InputError,
    34: UnsupportedError,
    36: OptionError,
}
