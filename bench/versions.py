#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Did a change make training slower? Two builds of Bora, step after step in turns.

    bench/versions.py OLD/bora NEW/bora [--model gpt2-124m ...] [--turns 20]
    bench/versions.py bora bora --new_flags "--compute bf16"      the same program, with other flags of bora bench train

Both programs are started once for each model and wait while the other one computes a step, so that a machine whose
speed changes from second to second changes it for both. Printed: the median step of each, and the median over the
turns of new / old (above 1: slower).
"""
import argparse
import os
import statistics
import subprocess

MODELS = ["quickstart", "llama-nano", "llama-mid", "gpt2-124m"]


def start(program, model, turns, flags):
    environment = {k: v for k, v in os.environ.items()
                   if k != "OPENBLAS_CORETYPE" and not k.startswith(("OMP_", "MKL_", "GOMP_", "KMP_", "MALLOC_"))}
    words = [program, "bench", "train", "--model", model, "--steps", str(turns), "--paced", *flags]
    started = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    if started.stdout.readline().strip() != "ready":
        raise SystemExit(f"versions: {' '.join(words)} failed with {started.wait()}")
    return started


def step_seconds(program):
    program.stdin.write("\n")
    program.stdin.flush()
    return float(program.stdout.readline())


def compare(args, model):
    turns = args.turns
    programs = [start(args.old, model, turns, []), start(args.new, model, turns, args.new_flags.split())]
    seconds = [[], []]
    for turn in range(turns):
        for which in ((0, 1) if turn % 2 == 0 else (1, 0)):
            seconds[which].append(step_seconds(programs[which]))
    for program in programs:
        program.kill()
        program.wait()
    ratio = statistics.median(b / a for a, b in zip(*seconds))
    medians = [1000 * statistics.median(times) for times in seconds]
    print(f"{model:12} old {medians[0]:8.1f} ms   new {medians[1]:8.1f} ms   new / old {ratio:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="a bora program")
    parser.add_argument("new", help="another one")
    parser.add_argument("--model", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--new_flags", default="", help="flags of bora bench train for the second")
    args = parser.parse_args()
    if args.turns < 1:
        parser.error(f"--turns is {args.turns}; it must be at least 1")
    for model in args.model:
        compare(args, model)


if __name__ == "__main__":
    main()
