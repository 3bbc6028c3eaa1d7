#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""What a timeline (trainer.profiler, bora bench workers --trace) says of communication, and a picture of one step.

  bench/timeline.py trace.json                      a line for each worker: step, in communication, overlapped
  bench/timeline.py trace.json --svg step.svg       and the step of median length, drawn
  bench/timeline.py trace.json --markdown           rows of a table

A worker communicates while a span of the kinds below is open on any of its threads, and computes while forward,
backward, norm or optimizer is open on a thread that does not communicate just then. Overlapped is the share of the
first time that lies within the second. Needs Python 3 alone.
"""

import argparse
import json
import statistics
from html import escape

COMMUNICATION = {"reduce-scatter", "all-gather", "all-reduce", "gather block", "exchange", "wait"}
COMPUTE = {"forward", "backward", "gradient norm", "optimizer"}
COLORS = {"forward": "#4c9f70", "backward": "#2f6f9f", "optimizer": "#8d6cab", "gradient norm": "#b9a0cf",
          "batch wait": "#999999", "reduce-scatter": "#d9822b", "all-gather": "#e2b13c", "all-reduce": "#c2553a",
          "gather block": "#e8cf6a", "exchange": "#a33b20", "wait": "#c9c9c9",
          "checkpoint": "#3aa6a6", "checkpoint snapshot": "#3aa6a6", "checkpoint write": "#3aa6a6", "batch": "#bbbbbb"}


def union(intervals):
    out = []
    for begin, end in sorted(intervals):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def common(a, b):
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        begin, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if begin < end:
            out.append([begin, end])
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out


def without(a, b):
    out = []
    for begin, end in a:
        for cut_begin, cut_end in b:
            if cut_end <= begin or cut_begin >= end:
                continue
            if cut_begin > begin:
                out.append([begin, cut_begin])
            begin = cut_end
        if begin < end:
            out.append([begin, end])
    return out


def read(path):
    """Spans by process and thread, and the names of both."""
    spans, names = {}, {}
    for event in json.load(open(path, encoding="utf-8"))["traceEvents"]:
        place = (event["pid"], event["tid"])
        if event["ph"] == "X":
            spans.setdefault(place, []).append((event["name"], event["ts"], event["ts"] + event["dur"]))
        elif event["name"] == "process_name":
            names[event["pid"]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            names[place] = event["args"]["name"]
    return spans, names


def times_of(spans, process):
    """Steps, and the times in communication, in computation and in both, in microseconds."""
    steps, communication, computation = [], [], []
    for (pid, _), events in spans.items():
        if pid != process:
            continue
        own = union((b, e) for name, b, e in events if name in COMMUNICATION)
        communication += own
        computation += without(union((b, e) for name, b, e in events if name in COMPUTE), own)
        steps += [(b, e) for name, b, e in events if name == "step"]
    within = union(steps)
    communication, computation = common(union(communication), within), common(union(computation), within)
    return sorted(steps), communication, computation, common(communication, computation)


def rows(spans, names):
    for process in sorted({pid for pid, _ in spans}):
        steps, communication, computation, both = times_of(spans, process)
        n, busy = len(steps), length(communication)
        yield (names.get(process, str(process)), n, statistics.median(e - b for b, e in steps) / 1e3,
               busy / n / 1e3, length(computation) / n / 1e3, length(both) / busy if busy else 0.0)


def median_step(spans, process):
    steps = sorted((b, e) for (pid, _), events in spans.items() if pid == process
                   for name, b, e in events if name == "step")
    return sorted(steps, key=lambda s: s[1] - s[0])[len(steps) // 2]


def draw(spans, names, title):
    begin, end = median_step(spans, min(pid for pid, _ in spans))
    margin = (end - begin) * 0.02
    begin, end = begin - margin, end + margin
    width, left, row, depth = 1200, 230, 30, 3
    scale = (width - left - 45) / (end - begin)
    shapes, y, used = [], 64, {}
    for place in sorted(spans):
        inside = [(n, b, e) for n, b, e in spans[place] if n in COLORS and e > begin and b < end]
        if not inside:
            continue
        label = f"{names.get(place[0], place[0])}, {names.get(place, place[1])}"
        shapes.append(f'<text x="8" y="{y + row * 0.65:.0f}">{escape(label)}</text>')
        open_until = []
        for name, b, e in sorted(inside, key=lambda s: (s[1], -s[2])):
            open_until = [t for t in open_until if t > b]
            level = min(len(open_until), depth - 1)
            open_until.append(e)
            x0, x1 = max(b, begin), min(e, end)
            if (x1 - x0) * scale < 0.3:
                continue
            used[name] = COLORS[name]
            shapes.append(f'<rect x="{left + (x0 - begin) * scale:.2f}" y="{y + level * row / depth:.1f}" '
                          f'width="{(x1 - x0) * scale:.2f}" height="{row - level * row / depth:.1f}" '
                          f'fill="{COLORS[name]}"><title>{escape(name)} {(e - b) / 1e3:.1f} ms</title></rect>')
        y += row + 8
    axis = []
    span_ms = (end - begin) / 1e3
    tick = 10 ** len(str(int(span_ms / 8)))
    tick = next(t for t in (tick / 10, tick / 5, tick / 2, tick) if span_ms / t <= 12)
    ms = 0
    while ms <= span_ms - margin / 1e3:
        x = left + (ms * 1e3 + margin) * scale
        axis.append(f'<line x1="{x:.1f}" y1="58" x2="{x:.1f}" y2="{y}" stroke="#ddd"/>'
                    f'<text x="{x:.1f}" y="54" text-anchor="middle" fill="#666">{ms:g} ms</text>')
        ms += tick
    x, legend = 8, []
    for name, color in used.items():
        legend.append(f'<rect x="{x}" y="{y + 12}" width="12" height="12" fill="{color}"/>'
                      f'<text x="{x + 16}" y="{y + 23}">{escape(name)}</text>')
        x += 34 + 7 * len(name)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 40}" '
            f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
            f'<text x="8" y="24" font-size="15">{escape(title)}</text>{"".join(axis)}{"".join(shapes)}{"".join(legend)}</svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--svg", help="draw the step of median length into this file")
    parser.add_argument("--title", default="one step")
    parser.add_argument("--markdown", metavar="LABEL", help="table rows that begin with this cell")
    a = parser.parse_args()
    spans, names = read(a.trace)
    for name, n, step, busy, computing, share in rows(spans, names):
        if a.markdown is not None:
            print(f"| {a.markdown} | {name} | {step:,.0f} | {busy:,.0f} | {busy / step:.0%} | {computing:,.0f} | {share:.0%} |")
        else:
            print(f"{name}: {n} steps, {step:,.0f} ms each; in communication {busy:,.0f} ms ({busy / step:.0%}), "
                  f"of which {share:.0%} overlapped with computation; computing {computing:,.0f} ms")
    if a.svg:
        with open(a.svg, "w", encoding="utf-8") as out:
            out.write(draw(spans, names, a.title))


if __name__ == "__main__":
    main()
