#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""clang-tidy on every source file but tests, as many at once as there are cores.

  scripts/tidy.py BUILD [FILE...]      BUILD: a folder with compile_commands.json, made for clang

Files of a room are looked at together, since most of the time goes into headers: one file of the build folder includes
several that define no name in common. Where they do not compile together after all, each is looked at alone.
What was clean is remembered by what the compiler sees of it (the preprocessed text, comments too: NOLINT), the checks
and the version of clang-tidy, in BORA_CACHE or XDG_CACHE_HOME/bora or ~/.cache/bora, for 60 days: only what changed is
looked at again.
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
TOGETHER = 12
# Compiled several times over, or with macros of their own: never with others.
ALONE = re.compile(r"HWY_TARGET_INCLUDE|^ *# *define ", re.MULTILINE)
DEFINED = re.compile(
    r"^(?:(?:struct|class|union|enum(?: class)?) (\w+)|using (\w+) ="
    r"|(?!namespace|using|template|return|extern|friend)[A-Za-z_][\w:<>,&*\[\] ]*?[ &*>](\w+)(?:\(|\[| =|\{|;))", re.MULTILINE)


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


def flags(command):
    """The compiler's command line without the file and its output."""
    line = shlex.split(command["command"])
    return [w for i, w in enumerate(line) if w not in ("-c", "-o") and line[i - 1] not in ("-c", "-o")]


def groups(paths, commands):
    """Files that may be looked at together: of one room, compiled alike, that define no name in common."""
    made = {}
    for path in paths:
        text = (ROOT / path).read_text()
        names = {n for match in DEFINED.findall(text) for n in match if n}
        room = (path.split("/")[:3], flags(commands[path]))
        fitting = made.setdefault(path if ALONE.search(text) else str(room), [])
        for group in fitting:
            if len(group["paths"]) < TOGETHER and not names & group["names"]:
                group["paths"].append(path)
                group["names"] |= names
                break
        else:
            fitting.append({"paths": [path], "names": names})
    return [group["paths"] for fitting in made.values() for group in fitting]


class Tidy:
    def __init__(self, build):
        self.folder = ROOT / build
        listed = json.loads((self.folder / "compile_commands.json").read_text())
        self.commands = {os.path.relpath(c["file"], ROOT): c for c in listed}
        self.cache = cache_folder()
        self.version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
        self.version += (ROOT / ".clang-tidy").read_bytes()
        (self.folder / "together").mkdir(exist_ok=True)

    def clean_mark(self, source, line, paths):
        """Where it is remembered that the file is clean; None if it does not get through the preprocessor."""
        done = subprocess.run(line + ["-E", "-C", source], cwd=self.folder, capture_output=True)
        text = done.stdout.replace(str(ROOT).encode(), b"")
        return self.cache / hashlib.sha256(self.version + str(paths).encode() + text).hexdigest() if done.returncode == 0 else None

    def look_at(self, paths):
        """clang-tidy's words on files that stand together: empty if they are clean."""
        source, line = str(ROOT / paths[0]), flags(self.commands[paths[0]])
        if len(paths) > 1:
            source = str(self.folder / "together" / (hashlib.sha256(str(paths).encode()).hexdigest()[:16] + ".cpp"))
            pathlib.Path(source).write_text("".join(f'#include "{ROOT / p}"\n' for p in paths))
        mark = self.clean_mark(source, line, paths)
        if mark and mark.exists():
            mark.touch()
            return ""
        done = subprocess.run(["clang-tidy", "--quiet", "--checks=-bugprone-suspicious-include", source, "--"] + line[1:],
                              cwd=ROOT, capture_output=True, text=True)
        words = "\n".join(w for w in (done.stdout + done.stderr).splitlines() if not NOISE.match(w))
        if len(paths) > 1 and "clang-diagnostic-error" in words:
            return "\n".join(filter(None, (self.look_at([p]) for p in paths)))
        if done.returncode == 0 and not words and mark:
            mark.touch()
        return words or ("" if done.returncode == 0 else f"{' '.join(paths)}: clang-tidy ended with {done.returncode}")


def main():
    tidy = Tidy(sys.argv[1])
    known = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    paths = sys.argv[2:] or [p for p in known if SOURCES.match(p) and p in tidy.commands]
    together, found = groups(paths, tidy.commands), 0
    together.sort(key=len, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for words in pool.map(tidy.look_at, together):
            if words:
                found += 1
                print(words, flush=True)
    print(f"clang-tidy: {len(paths)} files in {len(together)} groups, {found} of these with findings")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
