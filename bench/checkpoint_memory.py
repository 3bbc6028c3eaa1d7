#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""What writing and loading a checkpoint adds to the largest memory of each worker, parameters sharded over them.

  bench/checkpoint_memory.py                                  two workers, a GPT-2 of 121 M parameters
  bench/checkpoint_memory.py --workers 4 --layers 4 --hidden 512

Three runs: one that saves nothing, one that saves after every step, one that goes on from the last checkpoint. Each is
ended when it has come far enough; the table has the system's own record of the largest resident memory (VmHWM) then.
The bound is a worker's shard (its blocks of parameters and optimizer state) plus 200 MB. Needs mpirun and Python 3.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MB = 1024 * 1024

CONFIG = """
data: {{train_urls: [text.txt], train_tokenizer: {{vocab_size: 300}}, cache_dir: cache}}
model: {{type: gpt2, seq_len: 128, hidden_dim: {hidden}, num_heads: 8, num_layers: {layers}}}
trainer:
  id: run
  train_batch_size: {workers}
  lanes: {workers}
  num_train_steps: 1000
  threads: 1
  steps_per_eval: 0
  checkpointer: {{base_path: runs, save_interval: null, keep: [{{every: 1000000}}]}}
optimizer: {{learning_rate: 1e-4}}
"""


def workers_of(launcher):
    """Process numbers by rank."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text() if entry.name.isdigit() else ""
            if not stat or int(stat.rsplit(")", 1)[1].split()[1]) != launcher:
                continue
            for variable in (entry / "environ").read_bytes().split(b"\0"):
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(variable.split(b"=")[1])] = int(entry.name)
        except (OSError, ValueError):
            continue
    return found


def largest_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"worker {pid} has no VmHWM")


def measure(a, folder, options, ready):
    """Largest memory of each worker, in MB, when `ready` says so."""
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    log = open(folder / "log.txt", "w+", encoding="utf-8")
    run = subprocess.Popen(["mpirun", *root, "-n", str(a.workers), "--oversubscribe", "--bind-to", "none", a.bora, "train",
                            "config.yaml", *options], cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    while not ready(folder):
        if run.poll() is not None:
            raise SystemExit((folder / "log.txt").read_text())
        time.sleep(0.02)
    pids = workers_of(run.pid)
    out = [largest_mb(pids[rank]) for rank in sorted(pids)]
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)
    run.wait()
    return out


def said(words):
    return lambda folder: words in (folder / "log.txt").read_text()


def steps_done(n):
    def ready(folder):
        metrics = folder / "runs/run/metrics.jsonl"
        return metrics.exists() and metrics.read_text().count("train/loss") >= n
    return ready


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bora", default=str(HERE.parent / "build/release/apps/bora/bora"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--layers", type=int, default=17)
    parser.add_argument("--hidden", type=int, default=768)
    a = parser.parse_args()
    a.bora = str(pathlib.Path(a.bora).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bora_memory_"))
    try:
        (folder / "config.yaml").write_text(CONFIG.format(**vars(a)))
        (folder / "text.txt").write_text("the moon is a compiler of dreams and light falls on water .\n" * 2000)
        every = ["--trainer.checkpointer.keep=[{every: 1}]"]
        plain_start = measure(a, folder, [], said("baseline"))
        plain = measure(a, folder, ["--fresh"], steps_done(4))
        saving = measure(a, folder, ["--fresh", *every], lambda f: (f / "runs/run/step-3").exists() and steps_done(4)(f))
        newest = max(folder.glob("runs/run/step-*"), key=lambda p: int(p.name.split("-")[1]))
        shard = sum(f.stat().st_size for f in newest.glob("*.safetensors")) / MB / a.workers
        loading = measure(a, folder, [], said("baseline"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{a.layers} layers x {a.hidden}, {a.workers} workers; a shard has {shard:,.0f} MB; the bound is {shard + 200:,.0f} MB\n")
    print("| worker | training MB | with saving | added | at the start | with loading | added |\n|---:|---:|---:|---:|---:|---:|---:|")
    over = False
    for rank, numbers in enumerate(zip(plain, saving, plain_start, loading)):
        write, load = numbers[1] - numbers[0], numbers[3] - numbers[2]
        over |= max(write, load) > shard + 200
        print(f"| {rank} | {numbers[0]:,.0f} | {numbers[1]:,.0f} | {write:,.0f} | {numbers[2]:,.0f} | {numbers[3]:,.0f} | {load:,.0f} |")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
