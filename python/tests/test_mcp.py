"""The server of the Model Context Protocol, asked by the protocol's own client over stdio."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import BlobResourceContents, CallToolResult, TextContent, TextResourceContents

import apportion

Task = tuple[Path, Path]
SERVER = Path(sysconfig.get_path("scripts")) / "apportion-mcp"


def ask(
    script: Callable[[Client], Awaitable[None]],
    *options: str,
    environment: dict[str, str] | None = None,
) -> None:
    """Starts a server, and has a client of it follow a script."""
    given = environment or {"APPORTION": str(apportion.program())}
    server = StdioServerParameters(command=str(SERVER), args=list(options), env=given)

    async def run() -> None:
        async with Client(server) as client:
            await script(client)

    asyncio.run(asyncio.wait_for(run(), 120))


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    # Clients that know no structured content read the same as text.
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == result.structured_content
    answer: dict[str, Any] = result.structured_content
    return answer


def message(result: CallToolResult) -> str:
    """What an error result says."""
    assert result.is_error
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def children(process: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    below = [int(child) for file in lists for child in file.read_text().split()]
    return below + [deeper for child in below for deeper in children(child)]


def test_tools_describe_themselves() -> None:
    async def script(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"plan", "validate", "explain", "translate", "bound"}
        for tool in tools.values():
            assert tool.description and tool.output_schema
            assert tool.annotations is not None and tool.annotations.read_only_hint
            fields = tool.input_schema["properties"]
            assert all("description" in field for field in fields.values()), tool.name
            assert {"domain", "problem", "time_limit", "memory_limit_mib"} <= set(fields)

    ask(script)


def test_a_task_is_planned_for_from_paths_and_from_text(courier: Task) -> None:
    domain, problem = map(str, courier)
    texts = [file.read_text() for file in courier]

    async def script(client: Client) -> None:
        for arguments in (
            {"domain": domain, "problem": problem},
            {"domain": domain, "problem": texts[1]},
            {"domain": texts[0], "problem": problem},
            {"domain": texts[0], "problem": texts[1]},
            {"domain": problem},
            {"domain": "\n".join(texts)},
        ):
            answer = await call(client, "plan", **arguments)
            assert (answer["status"], answer["cost"], answer["lower_bound"]) == ("solved", 70, 70)
            assert len(answer["plan"]) == 10 and answer["certificate"] is None
            assert answer["gap"] == 0
            for plan in (answer["plan"], "\n".join(answer["plan"])):
                verdict = await call(client, "validate", domain=domain, problem=problem, plan=plan)
                assert verdict["valid"] and (verdict["cost"], verdict["length"]) == (70, 10)
        verdict = await call(
            client, "validate", domain=domain, problem=problem, plan=answer["plan"][1:]
        )
        assert not verdict["valid"] and verdict["step"] == 1
        assert "precondition" in verdict["message"]
        near = await call(client, "plan", domain=domain, problem=problem, gap=0.5)
        assert near["status"] in ("solved", "bounded")
        assert near["lower_bound"] <= 70 <= near["cost"] <= 1.5 * near["lower_bound"]
        empty = await call(client, "validate", domain=domain, problem=problem, plan=[])
        assert not empty["valid"] and "goal" in empty["message"]

    ask(script)


def test_a_task_without_a_plan(examples: Path) -> None:
    async def script(client: Client) -> None:
        dry = str(examples / "greenhouse/dry.pddl")
        answer = await call(client, "plan", domain=dry)
        assert answer["status"] == "unsolvable" and answer["plan"] is None
        answer = await call(client, "bound", domain=dry, heuristics=["hmax"])
        assert answer["is_unsolvable"] and answer["lower_bound"] is None

    ask(script)


def test_bounds_tables_and_translations(courier: Task) -> None:
    domain, problem = map(str, courier)

    async def script(client: Client) -> None:
        answer = await call(client, "bound", domain=domain, problem=problem)
        assert list(answer["bounds"]) == ["lmcut", "scp", "ascent"]
        assert answer["lower_bound"] == max(answer["bounds"].values()) <= 70
        answer = await call(client, "bound", domain=domain, problem=problem, heuristics=["ocp"])
        assert answer["lower_bound"] == 70
        text = (await call(client, "explain", domain=problem))["text"]
        assert text.startswith("3 variables, 30 operators\n") and "ocp" not in text
        text = (await call(client, "explain", domain=problem, bounds=True))["text"]
        assert "ocp" in text
        answer = await call(client, "translate", domain=problem)
        assert answer["sizes"]["operators"] == 30
        contents = (await client.read_resource(answer["task"])).contents[0]
        assert isinstance(contents, TextResourceContents) and contents.text == answer["text"]
        again = await call(client, "plan", domain=contents.text)
        assert again["cost"] == 70

    ask(script)


def test_a_certificate_is_a_resource(courier: Task, tmp_path: Path) -> None:
    async def script(client: Client) -> None:
        assert (await client.list_resources(cache_mode="bypass")).resources == []
        answer = await call(client, "plan", domain=str(courier[1]), certificate=True)
        listed = (await client.list_resources(cache_mode="bypass")).resources
        assert [resource.uri for resource in listed] == [answer["certificate"]]
        contents = (await client.read_resource(answer["certificate"])).contents[0]
        assert isinstance(contents, BlobResourceContents)
        proof = base64.b64decode(contents.blob)
        assert len(proof) == listed[0].size
        # The program makes the same proof for the same task.
        apportion.plan(*courier, certificate=tmp_path / "proof")
        assert proof == (tmp_path / "proof").read_bytes()
        with pytest.raises(MCPError, match="no such result"):
            await client.read_resource("apportion://certificates/77")
        with pytest.raises(MCPError):
            await client.read_resource("apportion://certificates/..%2F..%2Fetc%2Fpasswd")

    ask(script)


def test_old_results_make_room(courier: Task) -> None:
    from apportion.mcp import MOST_RESULTS

    async def script(client: Client) -> None:
        text = (await call(client, "translate", domain=str(courier[1])))["text"]
        uris = [(await call(client, "translate", domain=text))["task"] for _ in range(MOST_RESULTS)]
        listed = (await client.list_resources(cache_mode="bypass")).resources
        assert [resource.uri for resource in listed] == uris

    ask(script)


def test_progress_and_limits(hard: tuple[str, str]) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def script(client: Client) -> None:
        arguments = {"domain": hard[0], "problem": hard[1], "heuristic": "blind", "time_limit": 3}
        result = await client.call_tool("plan", arguments, progress_callback=listen)
        answer = result.structured_content
        assert answer is not None and answer["status"] == "out-of-time"
        assert answer["lower_bound"] > 0 and answer["plan"] is None
        seconds = [progress for progress, _, _ in told]
        assert len(seconds) >= 3 and seconds == sorted(set(seconds)) and max(seconds) <= 4
        assert {total for _, total, _ in told} == {3}
        assert "every plan costs at least" in str(told[-1][2])
        arguments |= {"memory_limit_mib": 60, "time_limit": 60}
        full = await client.call_tool("plan", arguments)
        assert full.structured_content is not None
        assert full.structured_content["status"] == "out-of-memory"
        for limit in ({"time_limit": 61}, {"memory_limit_mib": 5000}):
            result = await client.call_tool("plan", {**arguments, **limit})
            assert "this server gives a call at most" in message(result)

    ask(script, "--time-limit", "60")


def test_a_call_that_is_given_up_ends_its_search(hard: tuple[str, str]) -> None:
    def searches() -> list[int]:
        return [
            process
            for process in children(os.getpid())
            if b"--progress" in Path(f"/proc/{process}/cmdline").read_bytes()
        ]

    async def script(client: Client) -> None:
        arguments = {"domain": hard[0], "problem": hard[1], "heuristic": "blind"}
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.call_tool("plan", arguments), 2)
        deadline = time.monotonic() + 20
        while searches() and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        assert not searches()
        # There is one turn, and it is free again.
        answer = await call(client, "bound", domain=hard[0], problem=hard[1], heuristics=["blind"])
        assert answer["lower_bound"] == 1

    ask(script)


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("plan", {}),
    ("plan", {"domain": 7}),
    ("plan", {"domain": ""}),
    ("plan", {"domain": "-"}),
    ("plan", {"domain": "\0"}),
    ("plan", {"domain": "/"}),
    ("plan", {"domain": "/dev/null"}),
    ("plan", {"domain": "/dev/stdin"}),
    ("plan", {"domain": "x" * 300_000}),
    ("plan", {"domain": "(" * 300_000}),
    (
        "plan",
        {"domain": "(define (domain d))", "problem": "(define (problem p) (:domain d))" + "\0"},
    ),
    ("plan", {"domain": "--help"}),
    ("plan", {"domain": "missing.pddl", "problem": "--json"}),
    ("plan", {"domain": "/dev/null", "heuristic": "blind --plan-file=/tmp/x"}),
    ("plan", {"domain": "/dev/null", "time_limit": -1}),
    ("plan", {"domain": "/dev/null", "time_limit": 1e308}),
    ("plan", {"domain": "/dev/null", "memory_limit_mib": 0}),
    ("plan", {"domain": "/dev/null", "gap": -0.1}),
    ("validate", {"domain": "(", "problem": ")", "plan": [")("]}),
    ("validate", {"domain": "-", "problem": "-", "plan": "-"}),
    ("explain", {"domain": "begin_version\n3\nend_version\nbegin_metric\n9\n"}),
    ("translate", {"domain": "/proc/self/mem"}),
    ("bound", {"domain": "/dev/null", "heuristics": []}),
    ("bound", {"domain": "/dev/null", "heuristics": ["blind", "oracle"]}),
    ("no-such-tool", {}),
]


def test_hostile_input_is_an_error_result(courier: Task, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def script(client: Client) -> None:
        for tool, arguments in HOSTILE:
            try:
                result = await client.call_tool(tool, arguments)
            except MCPError:
                assert tool == "no-such-tool"
                continue
            assert message(result).strip(), (tool, arguments)
        result = await client.call_tool("translate", {"domain": str(pipe), "time_limit": 1})
        assert message(result)
        endless = await call(client, "plan", domain="/dev/zero", memory_limit_mib=64)
        assert endless["status"] == "out-of-memory"
        assert (await call(client, "plan", domain=str(courier[1])))["cost"] == 70

    ask(script)


def test_mistakes_in_a_task_say_where_they_are(courier: Task) -> None:
    async def script(client: Client) -> None:
        problem = courier[1].read_text().replace("(:goal", "(:goall")
        result = await client.call_tool("plan", {"domain": str(courier[0]), "problem": problem})
        assert "<problem>:" in message(result) and "did you mean" in message(result)

    ask(script)


def test_lines_that_are_no_messages_do_not_end_the_server(courier: Task) -> None:
    environment = {**os.environ, "APPORTION": str(apportion.program())}
    start = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }
    arguments = {"domain": str(courier[1])}
    requests = [
        b"\xff\xfe not text\n",
        b"{}\n[]\nnull\n" + b"[" * 100_000 + b"\n",
        b'{"jsonrpc": "2.0", "id": 1, "method": "no/such/method"}\n',
        _request(2, "initialize", start),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n',
        b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": 9}}\n',
        b'{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params":'
        b' {"name": "plan", "arguments": {"domain": "(\\ud800"}}}\n',
        _request(5, "tools/call", {"name": "plan", "arguments": arguments}),
    ]
    with subprocess.Popen(
        [SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        for request in requests:
            server.stdin.write(request)
        server.stdin.flush()
        answers = {}
        while 5 not in answers:
            line = server.stdout.readline()
            assert line, "the server has ended"
            answer = json.loads(line)
            answers[answer.get("id")] = answer
        server.stdin.close()
        assert server.wait(20) == 0
    assert answers[5]["result"]["structuredContent"]["cost"] == 70
    assert "error" in answers[1] and "error" in answers[3]


def _request(number: int, method: str, parameters: dict[str, Any]) -> bytes:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    return json.dumps(request).encode() + b"\n"


def test_a_missing_library_is_named() -> None:
    code = "import sys; sys.modules['mcp'] = None; from apportion._mcp import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and 'pip install ".[mcp]"' in done.stderr


def test_the_page_shows_what_the_command_takes() -> None:
    page = Path(__file__).resolve().parents[2] / "docs/how-to/agents.md"
    settings = json.loads(page.read_text().split("```json\n")[1].split("```")[0])
    entry = settings["mcpServers"]["apportion"]
    assert entry["command"] == SERVER.name

    async def script(client: Client) -> None:
        assert (await client.list_tools()).tools

    ask(script, *entry["args"])
    help_text = subprocess.run(
        [SERVER, "--help"], capture_output=True, text=True, check=True
    ).stdout
    for option in ("--time-limit", "--memory-limit", "--parallel"):
        assert option in help_text and f"`{option} " in page.read_text()
    wrong = subprocess.run([SERVER, "--parallel", "0"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "more than 0" in wrong.stderr
