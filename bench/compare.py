#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Trains the same models with Bora and with PyTorch, step by step in turn, and prints one table.

  bench/compare.py                                    all models, 3 rounds
  bench/compare.py --models gpt2-124m --rounds 1 --steps 5 --no-compile
  bench/compare.py --write                            also bench/results/YYYY-MM-CPU.md

  BORA_BENCH_ENV   folder for a Python environment with PyTorch; default ~/.cache/bora/bench-env. Made on the first run
                   (4 GB: PyTorch's wheel does not load without NVIDIA's libraries, GPU or not).

Each round starts Bora, PyTorch eager, PyTorch eager with glibc's malloc told to keep memory, and PyTorch compiled, each
a process of its own, one after the other. Then they take turns, one step each, while the others wait; "Bora is" is the
median over the turns of the other's step over Bora's of the same turn. All of them are in memory at once: --only where
it does not suffice. A round during which other programs used more than 5 % of the processors is repeated. Needs
Python 3 alone.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
PEER = HERE / "peers" / "torch_train.py"
TORCH = "2.11.0"
# What PyTorch's wheel asks for, less what only GPUs need (triton, cuda-bindings, cusolver, nvrtc, nvtx): its libraries
# are linked against the rest and do not load without it.
PACKAGES = """
    filelock typing-extensions>=4.10 setuptools<82 sympy>=1.13.3 networkx jinja2 fsspec numpy
    cuda-toolkit[cublas,cudart,cufft,cufile,cupti,curand,cusparse,nvjitlink]==13.0.2
    nvidia-cudnn-cu13==9.19.0.56 nvidia-cusparselt-cu13==0.8.0 nvidia-nccl-cu13==2.28.9 nvidia-nvshmem-cu13==3.4.5
""".split()

# name: (batch, sequence length, timed steps)
MODELS = {"quickstart": (4, 128, 100), "llama-nano": (4, 256, 20), "llama-mid": (4, 512, 6), "gpt2-124m": (4, 256, 5)}
# glibc gives nothing back to the system: what the allocator of Bora does, in its terms.
TUNED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
         "MALLOC_TOP_PAD_": str(64 << 20)}
# As on a CPU without AVX-512, for every library that asks.
AVX2 = {"BORA_CPU_TARGET": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2"}
DISTURBED = 0.05  # share of the processors that other programs may use during a run
VARIANTS = ("bora", "eager", "tuned", "compile")
TITLES = {"bora": "Bora", "eager": "PyTorch eager", "tuned": "eager, malloc tuned", "compile": "torch.compile"}


def quiet_environment():
    """Without the variables that would set threads or kernels behind the benchmark's back."""
    return {k: v for k, v in os.environ.items()
            if k != "OPENBLAS_CORETYPE" and not k.startswith(("OMP_", "MKL_", "GOMP_", "KMP_", "MALLOC_"))}


def environment_folder():
    return pathlib.Path(os.environ.get("BORA_BENCH_ENV") or pathlib.Path.home() / ".cache" / "bora" / "bench-env")


def peer_python():
    """The Python that has PyTorch; makes its environment where there is none."""
    folder = environment_folder()
    python, stamp = folder / "bin" / "python", folder / f"ready-torch-{TORCH}"
    if stamp.exists() and python.exists():
        return python
    print(f"making {folder} with PyTorch {TORCH} (4 GB; some minutes)", file=sys.stderr)
    venv.create(folder, clear=True, with_pip=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for arguments in (["--no-deps", f"torch=={TORCH}"], PACKAGES):
        done = subprocess.run(pip + arguments, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"compare: pip could not install {' '.join(arguments)}:\n{done.stderr}")
    subprocess.run([python, "-c", "import torch"], check=True)
    stamp.touch()
    return python


def command(variant, model, args):
    batch, seq, steps = MODELS[model]
    program = [args.bora, "bench", "train"] if variant == "bora" else [peer_python(), PEER]
    if variant == "compile":
        program.append("--compile")
    sizes = {"--model": model, "--batch": args.batch or batch, "--seq": args.seq or seq,
             "--steps": args.steps or steps, "--threads": args.threads}
    return [str(word) for word in program + [x for pair in sizes.items() for x in pair]]


def busy_seconds():
    """Processor seconds that the whole machine has spent, and those of this program's children among them."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, soft, steal = map(int, file.readline().split()[1:9])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK"), used.ru_utime + used.ru_stime


def start(variant, model, args):
    """The program of one variant, started up, warm, and waiting for its turn."""
    words = command(variant, model, args) + ["--paced"]
    environment = quiet_environment() | (TUNED if variant == "tuned" else {}) | (AVX2 if args.avx2 else {})
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    answer(program, words)
    return program, words


def answer(program, words):
    line = program.stdout.readline()
    if not line:
        sys.exit(f"compare: {' '.join(words)} failed with {program.wait()}")
    return line.strip()


def turn(program, words):
    program.stdin.write("\n")
    program.stdin.flush()
    return answer(program, words)


def run_once(model, variants, args):
    """One round: all programs side by side, one of them at work at a time, step after step. A machine whose speed
    changes from second to second changes it for all of them."""
    begun, (all_before, own_before) = time.monotonic(), busy_seconds()
    programs = {v: start(v, model, args) for v in variants}
    seconds = {v: [] for v in variants}
    for _ in range(args.steps or MODELS[model][2]):
        for variant, program in programs.items():
            seconds[variant].append(float(turn(*program)))
    results = {v: json.loads(turn(*program)) for v, program in programs.items()}
    for program, _ in programs.values():
        program.wait()
    elapsed, (all_after, own_after) = time.monotonic() - begun, busy_seconds()
    others = (all_after - all_before) - (own_after - own_before)
    for variant, result in results.items():
        result |= {"seconds": seconds[variant], "others": max(0.0, others / (elapsed * os.cpu_count()))}
        if args.verbose:
            print(f"{variant}: {json.dumps(result)}", file=sys.stderr)
    return results


def disturbance(results):
    return max(r["others"] for r in results.values())


def run(model, variants, args):
    """One round; again, up to --retries times, where other programs disturbed it. The least disturbed one counts."""
    best = None
    for _ in range(1 + args.retries):
        results = run_once(model, variants, args)
        if best is None or disturbance(results) < disturbance(best):
            best = results
        if disturbance(best) <= DISTURBED:
            break
    return best


def measure(model, variants, args):
    """variant -> the median of each number over the rounds, the words of the last, the seconds of all steps."""
    rounds = [run(model, variants, args) for _ in range(args.rounds)]
    out = {}
    for variant in variants:
        out[variant] = {key: statistics.median(r[variant][key] for r in rounds) if isinstance(value, float) else value
                        for key, value in rounds[-1][variant].items()}
        out[variant]["seconds"] = [s for r in rounds for s in r[variant]["seconds"]]
    return out


def times_faster(bora, other):
    """How often one step of `bora` fits into the other's step of the same turn: the median over the turns."""
    return statistics.median(b / a for a, b in zip(bora["seconds"], other["seconds"]))


def table(model, results):
    first = next(iter(results.values()))
    lines = [f"### {model}, batch {first['batch']} x {first['seq']} tokens", "",
             "| | tokens/s | step ms | p95 | Bora is | matmul share | GF/s | peak MB | start-up s | "
             "others' CPU |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    bora = results.get("bora")
    for variant, r in results.items():
        ratio = f"{times_faster(bora, r):.2f} x" if bora else "-"
        lines.append(f"| {TITLES[variant]} | {r['tokens_per_s']:,.0f} | {r['step_ms']:.1f} | {r['step_ms_p95']:.1f} | "
                     f"{ratio} | {r['matmul_share']:.0%} | {r['gflops_per_s']:.0f} | {r['peak_rss_mb']:,.0f} | "
                     f"{r['start_up_s']:.2f} | {r['others']:.0%} |")
    if disturbance(results) > DISTURBED:
        lines += ["", "Other programs disturbed these runs: the ratios are not to be relied on."]
    return "\n".join(lines) + "\n"


def hardware(result):
    with open("/proc/meminfo", encoding="ascii") as file:
        gigabytes = int(file.readline().split()[1]) / (1 << 20)
    return f"{result['cpu']}, {os.cpu_count()} cores, {gigabytes:.0f} GB, {result['threads']} threads"


def report(tables, last, args):
    when = datetime.date.today()
    paths = ", ".join(f"{TITLES[v]}: `{r['kernel_path']}`" for v, r in last.items())
    return (f"# Training on {hardware(next(iter(last.values())))}\n\n{when:%Y-%m-%d}; "
            f"`bench/compare.py --rounds {args.rounds} --threads {args.threads}`. fp32, AdamW, clipped gradients, random "
            f"tokens; medians of {args.rounds} interleaved rounds. Kernels: {paths}.\n\n" + "\n".join(tables))


def write(text, cpu):
    name = re.sub(r"[^a-z0-9]+", "-", cpu.lower()).strip("-")
    path = HERE / "results" / f"{datetime.date.today():%Y-%m}-{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bora", default=HERE.parent / "build" / "release" / "apps" / "bora" / "bora")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS, metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="timed steps of each run; default: by model")
    parser.add_argument("--batch", type=int, help="sequences; default: by model")
    parser.add_argument("--seq", type=int, help="tokens per sequence; default: by model")
    parser.add_argument("--retries", type=int, default=2, help="of a run that other programs disturbed")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", nargs="+", choices=VARIANTS, help="these ways alone")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out (it needs minutes)")
    parser.add_argument("--avx2", action="store_true", help="no AVX-512 for any of them")
    parser.add_argument("--write", action="store_true", help="also write bench/results/YYYY-MM-CPU.md")
    parser.add_argument("--verbose", action="store_true", help="every run's JSON line, on stderr")
    return parser.parse_args()


def main():
    args = parse()
    variants = [v for v in args.only or VARIANTS if not (v == "compile" and args.no_compile)]
    if "bora" in variants and not pathlib.Path(args.bora).exists():
        sys.exit(f"compare: no program at {args.bora}; build it, or pass --bora PATH")
    tables, last = [], {}
    for model in args.models:
        last = measure(model, variants, args)
        tables.append(table(model, last))
        print(tables[-1], flush=True)
    if args.write:
        write(report(tables, last, args), next(iter(last.values()))["cpu"])


if __name__ == "__main__":
    main()
