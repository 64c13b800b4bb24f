"""The command ``apportion-mcp``, which says what to install where its library is missing."""

from __future__ import annotations

import sys


def main() -> None:
    """Starts the server."""
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError:
        sys.exit(
            "apportion-mcp needs the Python library of the Model Context Protocol: "
            'pip install ".[mcp]" from a clone, or pip install "mcp>=2.3,<3"'
        )
    from apportion.mcp import main as serve

    serve()
