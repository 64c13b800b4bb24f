"""Makes the first inputs of each fuzzer from the examples, with the built programs.

Usage: python3 fuzz/seeds.py PROGRAM   (target/release/apportion)
"""

import gzip
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
# In the order of fuzz_targets/certificate.rs.
TASKS = ["courier", "dry", "boxes", "conditional"]


def seed(target, name, content):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def run(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments)], check=False, stdout=subprocess.DEVNULL)


def number(data, at):
    """Where a number ends."""
    while data[at] & 0x80:
        at += 1
    return at + 1


def blocks(data):
    """What the blocks of a file of samples hold."""
    at = 12
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        yield data[at + 4:at + 4 + length]
        at += 4 + length + 8


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for domain in sorted(EXAMPLES.glob("*/domain.pddl")):
        for problem in sorted(domain.parent.glob("*.pddl")):
            if problem == domain:
                continue
            name = f"{domain.parent.name}-{problem.stem}"
            seed("pddl", name, domain.read_bytes() + b"\x0c" + problem.read_bytes())
            run("translate", domain, problem, "-o", folder / "task.sas", "--quiet")
            seed("sas", name, (folder / "task.sas").read_bytes())
            samples = folder / f"{name}.samples"
            for labels in ["ocp", "none"]:
                samples.unlink(missing_ok=True)
                run("sample", problem, "--per-task", "3", "--labels", labels, "-o", samples)
                seed("samples", f"{name}-{labels}", b"\x0c".join(blocks(samples.read_bytes())))
    for index, task in enumerate(TASKS):
        file = HERE / "tasks" / f"{task}.sas"
        seed("sas", task, file.read_bytes())
        for heuristic in ["blind", "hmax", "lmcut", "scp"]:
            proof = folder / f"{task}-{heuristic}"
            run("plan", file, "--heuristic", heuristic, "--certificate", proof, "--plan-file", "-")
            data = gzip.decompress(proof.read_bytes())
            body = data[number(data, data.index(b"\n") + 1):]
            seed("certificate", proof.name, bytes([index]) + body)
    proof = folder / "cartesian"
    run("plan", HERE / "tasks/courier.sas", "--heuristic", "scp", "--components", "cartesian",
        "--certificate", proof, "--plan-file", "-")
    data = gzip.decompress(proof.read_bytes())
    seed("certificate", proof.name, bytes([0]) + data[number(data, data.index(b"\n") + 1):])
model = HERE.parent / "models/visitall.safetensors"
seed("model", model.name, model.read_bytes())
