"""Makes the first inputs of each fuzzer from the examples, with the built programs.

Usage: python3 fuzz/seeds.py PROGRAM   (target/release/apportion)
"""

import gzip
import json
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


def samples_seed(data):
    """The header of a file of samples with a word for its checksum, and its tensors."""
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header["__metadata__"]["checksum"] = "the checksum is"
    return json.dumps(header).encode() + b"\x0c" + data[8 + length:]


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
            for labels in ["vertex", "none"]:
                samples.unlink(missing_ok=True)
                run("sample", problem, "--per-task", "3", "--labels", labels, "-o", samples)
                seed("samples", f"{name}-{labels}", samples_seed(samples.read_bytes()))
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
