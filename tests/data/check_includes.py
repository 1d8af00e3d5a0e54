#!/usr/bin/env python3
"""Holds the sources to the order of rooms and of the folders in them: each includes only what stands before it.

    check_includes.py          exit code 1 names every include that points the wrong way, and every cycle of files

Rooms: model; gpu -> model; microbench -> gpu, model; executor -> gpu, model; reports -> model; cli -> all. Inside a
room that has folders, one includes itself and the folders before it in FOLDERS, and what stands at the room's top all
of them. No file includes itself over others.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROOMS = {"model": [], "gpu": ["model"], "microbench": ["gpu", "model"], "executor": ["gpu", "model"],
         "reports": ["model"], "cli": ["model", "gpu", "microbench", "executor", "reports"]}
FOLDERS = {"model": ["base", "shape", "machine", "paper", "plan", "work", "strategies", "time", "regime", "choose", "fit",
                     "record", "network"],
           "executor": ["kernels", "launch", "verify", "baselines", "count", "network", "timeline"]}
TOP = {"model": ["again", "choice", "predict", "question"],
       "executor": ["case_call", "check_kernels", "kept_run", "run_case", "try_own"]}


def place_in_room(path):
    """Where a file of such a room stands in the order of its folders; those at its top are last."""
    room, folder = path.split("/")[:2]
    if folder in FOLDERS[room]:
        return FOLDERS[room].index(folder)
    return len(FOLDERS[room]) if folder.split(".")[0] in TOP[room] else None


def problems():
    graph = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix not in (".hpp", ".cpp"):
                continue
            name = path.relative_to(ROOT).as_posix()
            if room in FOLDERS and place_in_room(name) is None:
                yield f"{name}: not in a folder of {room}/: {', '.join(FOLDERS[room])}"
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r'#include "([^"]+)"', line)
                if not match or not (ROOT / match.group(1)).is_file():
                    continue
                other = match.group(1)
                graph.setdefault(name, set()).add(other)
                its_room = other.split("/")[0]
                if its_room != room and its_room not in ROOMS[room]:
                    yield f"{name}:{number}: {room}/ does not include {its_room}/"
                elif room == its_room and room in FOLDERS and place_in_room(other) > place_in_room(name):
                    yield f"{name}:{number}: {other} stands behind it in the order of {room}/'s folders"
    done, path = set(), []

    def walk(name):
        if name in path:
            yield "cycle: " + " -> ".join(path[path.index(name):] + [name])
            return
        if name in done:
            return
        path.append(name)
        for other in sorted(graph.get(name, ())):
            yield from walk(other)
        done.add(path.pop())

    for name in sorted(graph):
        yield from walk(name)


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found) or "every include points to what stands before it")
    sys.exit(1 if found else 0)
