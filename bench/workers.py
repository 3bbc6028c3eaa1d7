#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Two workers of one thread each against two runs of one thread each that know nothing of each other, turn by turn.

  bench/workers.py                                       GPT-2 124M, 2 x 1,024 tokens a step
  bench/workers.py --model llama-nano --steps 20 --rounds 3

The two alone run at the same time, so both ways share the clock and the memory of the machine. Each worker has its own
core. The table has medians of the rounds: tokens/s of both together, the share of that of the two alone, and what a
worker holds. Needs Python 3 and mpirun.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def quiet_environment():
    """Without the variables that would set threads behind the benchmark's back."""
    return {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE" and not k.startswith(("OMP_", "MKL_"))}


def last_line(process):
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(process.args)}: exit code {process.returncode}")
    return json.loads(out.strip().splitlines()[-1])


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet_environment())


def alone(bora, options, workers):
    own = [*options, "--batch", str(options_batch(options) // workers), "--lanes", "1"]
    runs = [start(["taskset", "-c", str(core), bora, "bench", "workers", *without_batch(own)]) for core in range(workers)]
    results = [last_line(r) for r in runs]
    return {"tokens_per_s": sum(r["tokens_per_s"] for r in results), **{k: results[0][k] for k in
            ("parameters_mb", "optimizer_mb", "peak_rss_mb")}}


def options_batch(options):
    return int(options[options.index("--batch") + 1])


def without_batch(options):
    """The last --batch counts."""
    first = options.index("--batch")
    return options[:first] + options[first + 2:]


def together(bora, options, workers, *more):
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    return last_line(start(["mpirun", *root, "-n", str(workers), "--bind-to", "core", bora, "bench", "workers", *options,
                            "--lanes", str(workers), *more]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bora", default=str(HERE.parent / "build/release/apps/bora/bora"))
    parser.add_argument("--model", default="gpt2-124m")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    a = parser.parse_args()
    options = ["--model", a.model, "--batch", str(a.batch), "--seq", str(a.seq), "--steps", str(a.steps)]
    ways = {"runs that know nothing of each other": lambda: alone(a.bora, options, a.workers),
            "workers, parameters whole": lambda: together(a.bora, options, a.workers, "--whole"),
            "workers, parameters sharded": lambda: together(a.bora, options, a.workers)}
    results = {name: [] for name in ways}
    for _ in range(a.rounds):
        for name, run in ways.items():
            results[name].append(run())
    base = statistics.median(r["tokens_per_s"] for r in next(iter(results.values())))
    print(f"{a.model}, {a.workers} x 1 thread, {a.batch} x {a.seq} tokens, {a.rounds} rounds\n")
    print("| | tokens/s together | share | parameters MB | optimizer MB | peak MB of a worker |\n|---|---:|---:|---:|---:|---:|")
    for name, runs in results.items():
        rate = statistics.median(r["tokens_per_s"] for r in runs)
        held = [f"{max(runs[0][k]):,.0f}" for k in ("parameters_mb", "optimizer_mb", "peak_rss_mb")]
        print(f"| {name} | {rate:,.0f} | {rate / base:.2f} | {' | '.join(held)} |")


if __name__ == "__main__":
    main()
