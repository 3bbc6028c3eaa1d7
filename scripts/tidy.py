#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""clang-tidy on every source file but tests, as many at once as there are cores.

  scripts/tidy.py BUILD [FILE...]      BUILD: a folder with compile_commands.json, made for clang

A file that was clean is remembered by what the compiler sees of it (the preprocessed text, comments too: NOLINT), the
checks and the version of clang-tidy, in BORA_CACHE or XDG_CACHE_HOME/bora or ~/.cache/bora, for 60 days: only what
changed is looked at again.
Prints what clang-tidy finds; exit code 1 if that is anything.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = re.compile(r"^(src/bora|apps|plugins)/.*(?<!_test)\.cpp$")
NOISE = re.compile(r"^\d+ warnings? generated|^$")
DAYS = 60


def cache_folder():
    base = os.environ.get("BORA_CACHE")
    if not base:
        base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "bora"
    folder = pathlib.Path(base) / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.stat().st_mtime < time.time() - DAYS * 86400:
            old.unlink(missing_ok=True)
    return folder


def preprocessed(command):
    """What the compiler sees of a file, without the paths of this checkout; None if it does not get through."""
    line = shlex.split(command["command"])
    line = [w for i, w in enumerate(line) if w not in ("-c", "-o") and line[i - 1] != "-o"]
    done = subprocess.run(line + ["-E", "-C"], cwd=command["directory"], capture_output=True)
    return done.stdout.replace(str(ROOT).encode(), b"") if done.returncode == 0 else None


def look_at(path, command, build, cache, tool):
    """clang-tidy's words on a file: empty if it is clean."""
    text = preprocessed(command)
    clean = text and cache / hashlib.sha256(tool + path.encode() + text).hexdigest()
    if clean and clean.exists():
        clean.touch()
        return ""
    done = subprocess.run(["clang-tidy", "-p", build, "--quiet", path], cwd=ROOT, capture_output=True, text=True)
    words = "\n".join(w for w in (done.stdout + done.stderr).splitlines() if not NOISE.match(w))
    if done.returncode == 0 and not words and clean:
        clean.touch()
    return words or ("" if done.returncode == 0 else f"{path}: clang-tidy ended with {done.returncode}")


def main():
    build = sys.argv[1]
    commands = {os.path.relpath(c["file"], ROOT): c for c in json.loads((ROOT / build / "compile_commands.json").read_text())}
    known = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    paths = sys.argv[2:] or [p for p in known if SOURCES.match(p) and p in commands]
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    tool = version + (ROOT / ".clang-tidy").read_bytes()
    cache, found = cache_folder(), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for words in pool.map(lambda p: look_at(p, commands[p], build, cache, tool), paths):
            if words:
                found += 1
                print(words, flush=True)
    print(f"clang-tidy: {len(paths)} files, {found} with findings")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
