#!/usr/bin/env python3
"""Holds the sources to C++'s one-definition rule: within a namespace a name belongs to one type.

    check_types.py          exit code 1 names each type that is defined in two files, with both places

Two types of one name are ill-formed even where no file sees both, and no compiler or linker has to say so. Types in
unnamed namespaces, in functions and in other types are each file's own and are passed over, and so are tests.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROOMS = ("model", "gpu", "microbench", "executor", "reports", "cli")
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
SCOPE = re.compile(r"(?P<namespace>\bnamespace\b\s*(?P<space>[\w:]*)\s*\{)"
                   r"|(?P<type>\b(?:struct|class|union|enum(?:\s+class)?)\s+(?P<name>\w+)(?!\w|\s*::)[^;{}()<>=]*\{)"
                   r"|(?P<open>\{)|(?P<close>\})")


def types_of(text):
    """Names with their namespaces, and the line of each, of the types that a file defines at namespace scope."""
    text = TEXT.sub(lambda match: "\n" * match.group().count("\n"), text)
    scopes = []
    for match in SCOPE.finditer(text):
        if match["close"]:
            if scopes:
                scopes.pop()
        elif match["namespace"]:
            scopes.append(match["space"] or None)  # None: unnamed
        else:
            if match["type"] and all(isinstance(scope, str) for scope in scopes):
                yield "::".join([*scopes, match["name"]]), text.count("\n", 0, match.start()) + 1
            scopes.append(False)


def main():
    places = collections.defaultdict(list)
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.[ch]pp")):
            for name, line in types_of(path.read_text()):
                places[name].append(f"{path.relative_to(ROOT).as_posix()}:{line}")
    if len(places) < 100:
        print(f"only {len(places)} types found: the sources are no longer read as this script expects")
        return 1
    twice = {name: where for name, where in places.items() if len(where) > 1}
    for name, where in sorted(twice.items()):
        print(f"{name} is defined {len(where)} times: {', '.join(where)}")
    print(f"{len(places)} types, {len(twice)} of them defined more than once")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
