#!/usr/bin/env python3
"""Certificates of many tasks: are they verified, how large are they, what do they cost?

    scripts/certificates.py LIST... --benchmarks FOLDER -o results.jsonl [--jobs N] [--time-limit 30s]
    scripts/certificates.py -o results.jsonl --report

A LIST is a file of results of `apportion experiment run` (its solved tasks are taken), or a text file
with a task a line; tasks are problem files below FOLDER, with the domain file beside them.
Each task is planned without a certificate, planned with one, and the certificate is checked by
`apportion-verify` on the task that `apportion translate` makes.
Every task ends as one JSON line; what is there already is not run again.
The report is a table in Markdown, with means over the tasks whose search takes longer than a second.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def tasks_of(path, configuration):
    """The tasks of a list, in order, each once."""
    found = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if not line.strip():
            continue
        if not line.startswith("{"):
            found[line.strip()] = None
            continue
        record = json.loads(line)
        if record["status"] == "solved" and configuration in (None, record["configuration"]):
            found[record["task"]] = None
    return list(found)


def measure(command, timeout):
    """Exit code, output, seconds and peak memory of a process."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        killer = threading.Timer(timeout, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    seconds = time.monotonic() - started
    return process.returncode, text, seconds, usage.ru_maxrss * 1024


def run(task, options):
    """Everything about one task."""
    problem = pathlib.Path(options.benchmarks) / task
    apportion = options.bin / "apportion"
    limits = ["--time-limit", options.time_limit, "--memory-limit", options.memory_limit]
    record = {"task": task, "heuristic": options.heuristic}
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        folder = pathlib.Path(folder)
        sas, certificate = folder / "task.sas", folder / "certificate"
        results = {}
        for name, more in [("plain", []), ("certified", ["--certificate", str(certificate)])]:
            command = [apportion, "plan", problem, "--heuristic", options.heuristic, "--plan-file", "-"]
            command += limits + ["--json", folder / name] + more
            measure([str(word) for word in command], 3600)
            results[name] = json.loads((folder / name).read_text())
        plain, certified = results["plain"], results["certified"]
        record["status"], record["exit_code"] = certified["status"], certified["exit_code"]
        for key in ["cost", "expanded", "evaluated", "search_s", "certificate_s", "message"]:
            record[key] = certified[key]
        for key in ["bytes", "states", "closed", "completed", "bounds"]:
            record[key] = certified[f"certificate_{key}"]
        record["plain_search_s"] = plain["search_s"]
        record["plan_memory"] = plain["peak_memory_bytes"]
        record["certificate_memory"] = certified["peak_memory_bytes"]
        record["verified"] = None
        if certificate.exists() and record["exit_code"] in (0, 11):
            measure([str(apportion), "translate", str(problem), "-o", str(sas)], 3600)
            verify = [str(options.bin / "apportion-verify"), str(sas), str(certificate)]
            code, text, seconds, memory = measure(verify, options.verify_limit)
            record |= {"verified": code == 0, "verify_s": seconds, "verify_memory": memory}
            record["said"] = text.strip()
    return record


def geometric_mean(values):
    values = [max(value, 1e-3) for value in values]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def report(records):
    columns = ["task", "verified", "search s", "writing s", "verification s", "KB", "states", "closed",
               "added", "bounds", "bytes/closed", "bytes/state", "memory: search MB", "writing ×", "verifier ×"]
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    kept = [r for r in records if r["bytes"] is not None]
    for r in sorted(kept, key=lambda r: -r["search_s"]):
        verified = {True: "yes", False: "**no**", None: "–"}[r["verified"]]
        cells = [r["task"], verified, f"{r['search_s']:.2f}", f"{r['certificate_s']:.2f}",
                 f"{r.get('verify_s', float('nan')):.2f}", f"{r['bytes'] / 1024:.0f}", r["states"],
                 r["closed"], r["completed"], r["bounds"], f"{r['bytes'] / max(r['closed'], 1):.1f}",
                 f"{r['bytes'] / r['states']:.2f}", f"{r['plan_memory'] / 2**20:.0f}",
                 f"{r['certificate_memory'] / r['plan_memory']:.2f}",
                 f"{r.get('verify_memory', float('nan')) / r['plan_memory']:.2f}"]
        print("| " + " | ".join(map(str, cells)) + " |")
    long = [r for r in kept if r["search_s"] > 1 and r["verified"]]
    print(f"\n{len(records)} tasks, {len(kept)} certificates, {sum(r['verified'] is True for r in kept)} verified, "
          f"{sum(r['verified'] is False for r in kept)} refused.")
    for r in records:
        if r["bytes"] is None or not r["verified"]:
            print(f"- {r['task']}: {r['status']} {r['message'] or ''} {r.get('said', '')}")
    if long:
        print(f"\nGeometric means over {len(long)} tasks whose search takes more than 1 s: "
              f"writing {geometric_mean([r['certificate_s'] / r['search_s'] for r in long]):.2f} × search, "
              f"verification {geometric_mean([r['verify_s'] / r['search_s'] for r in long]):.2f} × search, "
              f"{geometric_mean([r['bytes'] / max(r['closed'], 1) for r in long]):.1f} bytes per closed state, "
              f"{geometric_mean([r['bytes'] / r['states'] for r in long]):.2f} bytes per state, "
              f"memory while writing {geometric_mean([r['certificate_memory'] / r['plan_memory'] for r in long]):.2f} ×, "
              f"of the verifier {geometric_mean([r['verify_memory'] / r['plan_memory'] for r in long]):.2f} ×.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="*")
    parser.add_argument("--benchmarks", help="the folder that tasks are below")
    parser.add_argument("--configuration", help="of a list of results; all unless given")
    parser.add_argument("-o", "--output", required=True, help="JSON lines")
    parser.add_argument("--report", action="store_true", help="print the table")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--heuristic", default="auto")
    parser.add_argument("--time-limit", default="60s", help="of a run of the planner, certificate included")
    parser.add_argument("--memory-limit", default="4GiB")
    parser.add_argument("--verify-limit", type=float, default=3600, help="seconds")
    parser.add_argument("--first", type=int, help="only so many tasks of each list, spread evenly")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "target/release")
    parser.add_argument("--scratch", help="folder for certificates")
    options = parser.parse_args()
    output = pathlib.Path(options.output)
    records = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
    done = {(record["task"], record["heuristic"]) for record in records}
    todo = []
    for path in options.lists:
        tasks = tasks_of(path, options.configuration)
        if options.first and len(tasks) > options.first:
            tasks = [tasks[i * len(tasks) // options.first] for i in range(options.first)]
        todo += [task for task in tasks if (task, options.heuristic) not in done]
    if todo and not options.benchmarks:
        parser.error("--benchmarks says where the tasks are")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, output.open("a") as out:
        running = {pool.submit(run, task, options): task for task in dict.fromkeys(todo)}
        for future in concurrent.futures.as_completed(running):
            try:
                record = future.result()
            except (OSError, ValueError, KeyError) as error:
                print(f"{running[future]}: {error}", file=sys.stderr)
                continue
            records.append(record)
            out.write(json.dumps(record) + "\n")
            out.flush()
            print(f"{record['task']}: {record['status']}, verified: {record['verified']}", file=sys.stderr)
    if options.report:
        report(records)


if __name__ == "__main__":
    main()
