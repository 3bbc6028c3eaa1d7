# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""What the parts of on_gpu.py are made with: the program and where it lies, small runs of it, and their files."""

import array
import contextlib
import importlib.util
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = pathlib.Path(os.environ.get("OUT") or ROOT / "build/on_gpu").resolve()
STEPS, HALF = 12, 6
CONFIG = """\
data:
  configs:
    one: {train_urls: ["one.txt"]}
    two: {train_urls: ["two.txt"]}
  train_weights: {one: 0.7, two: 0.3}
  mixture_block_size: 16
  num_validation_sequences: {one: 4, two: 4}
  train_tokenizer: {vocab_size: 300}
  cache_dir: cache
  permutation_type: feistel
model: {type: gpt2, seq_len: 32, hidden_dim: 32, num_heads: 4, num_layers: 2, embed_pdrop: 0.1, resid_pdrop: 0.1,
  attn_pdrop: 0.1, gradient_checkpointing: true}
trainer:
  id: run
  train_batch_size: 8
  lanes: 2
  steps_per_eval: 0
  checkpointer: {base_path: runs, save_interval: null, keep: [{every: %d}]}
optimizer: {learning_rate: 1e-3, warmup: 5, max_grad_norm: 0.5}
""" % HALF


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


class Part:
    """One part while it runs: its time, its files and what it has found."""

    def __init__(self, name, seconds):
        self.name, self.seconds, self.deadline = name, seconds, time.monotonic() + seconds
        self.numbers = {}
        self.log = OUT / f"{name}.txt"
        self.log.write_text("")

    def run(self, *command, cwd=None, env=None, codes=(0,)):
        """What the command prints, all of it; Failed where it ends otherwise, or the part's time does."""
        command = [str(word) for word in command]
        process = subprocess.Popen(command, cwd=cwd, env=os.environ | (env or {}), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   start_new_session=True)
        late = False
        try:
            said, _ = process.communicate(timeout=max(self.deadline - time.monotonic(), 0.01))
        except BaseException as stop:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            late = isinstance(stop, subprocess.TimeoutExpired)
            if not late:
                raise
        finally:
            with self.log.open("a") as log:
                log.write(f"$ {' '.join(command)}\n{said}\n")
        if late:
            raise Failed(f"not done after {self.seconds:.0f} s: {' '.join(command)[:100]}")
        if process.returncode not in codes:
            last = next((line for line in reversed(said.splitlines()) if line.strip()), "it says nothing")
            raise Failed(f"exit code {process.returncode}: {last.strip()[:200]}")
        return said


def json_lines(said):
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]


def tensors(path):
    """name -> numbers of a safetensors file, those in fp32."""
    data = path.read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + size])
    out = {}
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            begin, end = (8 + size + at for at in tensor["data_offsets"])
            out[name] = array.array("f", data[begin:end])
    return out


def gap(got, want):
    """The largest difference, of the largest value where that is above 1; of a gradient, of its norm. And where."""
    worst, where = 0.0, ""
    for name, values in want.items():
        if not re.match(r"(logits|loss|hidden_states\.\d+|grad\..*)$", name):
            continue
        if len(got.get(name, ())) != len(values):
            return math.inf, name
        scale = max(1.0, max(map(abs, values), default=0))
        if name.startswith("grad."):
            scale = math.sqrt(sum(v * v for v in values)) or 1.0
        here = max((abs(a - b) / scale for a, b in zip(got[name], values)), default=0.0)
        if not here <= worst:  # also where it is not a number
            worst, where = here, name
    return worst, where


class Program:
    """The program and its surroundings."""

    def __init__(self, args, work):
        self.device, self.work = args.device, work
        self.torch = pathlib.Path(args.torch).resolve() if args.torch else self.find_torch()
        self.bora, self.tests = self.find_bora(args.bora)
        libraries = [str(self.torch / "lib")] if self.torch else []
        if self.bora.is_relative_to(work):
            libraries.append(str(self.bora.parent.parent / "lib/bora"))  # for the tests, which the wheel has not
        libraries += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
        self.env = {"LD_LIBRARY_PATH": ":".join(libraries), "HF_HUB_OFFLINE": "1"}
        if args.torch:
            self.env["PYTHONPATH"] = str(self.torch.parent)
        self.computes = True  # the program, on that device

    @staticmethod
    def find_torch():
        found = importlib.util.find_spec("torch")
        return pathlib.Path(found.submodule_search_locations[0]).resolve() if found else None

    def find_bora(self, program):
        """The program, and the folder of its device's tests."""
        if program:
            program = pathlib.Path(program).absolute()
            beside = program.parent.parent.parent / "plugins/fake_device"
            return program, program.parent if any(program.parent.glob("*_device_test")) else beside
        for folder in (ROOT / "build/on_gpu_kit", ROOT / "build/wheel"):
            for wheel in folder.glob("bora-*.whl"):
                return self.unpack(wheel), folder
        for build in (ROOT / "build/cuda", ROOT / "build/release"):
            if (build / "apps/bora/bora").exists():
                return build / "apps/bora/bora", build / "plugins/fake_device"
        sys.exit("on_gpu: no program: neither a wheel nor a build\nhint: scripts/on_gpu.sh --pack where it is built")

    def unpack(self, wheel):
        """As pip would install it, beside the package torch that is there."""
        if self.torch is None:
            sys.exit("on_gpu: the wheel needs PyTorch 2.11.0\nhint: --torch DIR, the folder torch of an environment")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.work)
        for name in ("torch", "nvidia"):
            if (self.torch.parent / name).exists():
                (self.work / name).symlink_to(self.torch.parent / name)
        for program in (self.work / "bora/bin").iterdir():
            program.chmod(0o755)
        return self.work / "bora/bin/bora"

    def run(self, part, *command, env=None, **how):
        return part.run(*command, env=self.env | (env or {}), **how)

    def train(self, part, folder, *flags, device=None, before=(), env=None):
        return self.run(part, *before, self.bora, "train", "config.yaml", f"--trainer.device={device or self.device}",
                        f"--trainer.num_train_steps={STEPS}", *flags, cwd=folder, env=env)

    def project(self, name):
        """A new folder with a configuration and two made-up texts: a small GPT-2 with dropout, two lanes, a mixture."""
        folder = self.work / name
        folder.mkdir()
        words = "the moon is a compiler of dreams and light falls on water".split()
        for seed, text in enumerate(("one", "two")):
            draw = random.Random(seed)
            lines = (" ".join(draw.choices(words, k=11)) + ".\n" for _ in range(400))
            (folder / f"{text}.txt").write_text("".join(lines))
        (folder / "config.yaml").write_text(CONFIG)
        return folder

    def again(self, folder, name, last=0):
        """A copy of a project, with its runs up to the step `last`."""
        def later(_, names):
            return [n for n in names if (n == "runs" and last == 0) or (n.startswith("step-") and int(n[5:]) > last)]
        return pathlib.Path(shutil.copytree(folder, self.work / name, ignore=later))
