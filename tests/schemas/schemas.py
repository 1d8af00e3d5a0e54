#!/usr/bin/env python3
"""Holds docs/schemas to what make_schemas makes of the structs, with the comments of their headers, and every document
that ships to its schema.

usage: schemas.py MAKE_SCHEMAS [--update]      MAKE_SCHEMAS: build/gpu/tests/make_schemas
--update writes docs/schemas anew. No package is needed: the few keywords that the schemas use are checked here.
"""
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from member_comments import Structs

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMAS = ROOT / "docs" / "schemas"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


HEADERS = [header for room in ("model/*", "microbench", "reports") for header in sorted(ROOT.glob(room + "/*.hpp"))]


class Number(float):
    """With the text that it was read from, as which it is written."""

    def __init__(self, text):
        self.text = text


def commented(schema, name, structs):
    """A struct's schema with the comments as descriptions; where there is none, make_schemas may say what a member is."""
    properties = {}
    for member, its in schema["properties"].items():
        text = structs.comment_of(name, member) or its.get("description", "")
        its = {key: value for key, value in its.items() if key != "description"}
        if "properties" in its: # a number with its unit and where it is from
            its = commented(its, "Param", structs)
        properties[member] = {"description": text, **its} if text else its
    out = {}
    for key, value in schema.items():
        if key == "type" and structs.comments.get(name):
            out["description"] = structs.comments[name]
        out[key] = properties if key == "properties" else value
    return out


def schema_of(made, structs):
    """A document's schema of what make_schemas made: $struct is what the document is of."""
    schema = commented(made, made.pop("$struct"), structs)
    return {**schema, "$defs": {name: commented(its, name, structs) for name, its in made["$defs"].items()}}


def text_of(value, indent=""):
    """JSON as convcast writes it: a member a line, and arrays of scalars on one."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        members = (f"{inner}{json.dumps(name)}: {text_of(its, inner)}" for name, its in value.items())
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    return value.text if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)


def is_of(kind, value):
    if kind in ("integer", "number"):
        return not isinstance(value, bool) and isinstance(value, int if kind == "integer" else (int, float))
    return isinstance(value, TYPES[kind])


def problems(value, schema, root, place=""):
    """What of a value its schema forbids; the keywords are those that make_schemas.cpp writes."""
    if "$ref" in schema:
        yield from problems(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, place)
    if "const" in schema and value != schema["const"]:
        yield f"{place}: expected {schema['const']!r}, got {value!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is none of {schema['enum']}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_of(kind, value) for kind in kinds):
        yield f"{place}: expected {kinds}, got {value!r:.60}"
        return
    if is_of("number", value):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{place}: {value} is out of {schema.get('minimum')} to {schema.get('maximum')}"
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            yield f"{place}: {value} is not above {schema['exclusiveMinimum']}"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{place}: {len(value)} items"
        for i, item in enumerate(value):
            yield from problems(item, schema.get("items", {}), root, f"{place}/{i}")
    if isinstance(value, dict):
        yield from (f"{place}: no {name!r}" for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            own = schema.get("properties", {}).get(name)
            if own is None and any(re.search(p, name) for p in schema.get("patternProperties", {})):
                continue
            more = schema.get("additionalProperties", True)
            if own is None and more is False:
                yield f"{place}: unknown field {name!r}"
            else:
                yield from problems(item, own if own is not None else more if isinstance(more, dict) else {}, root, f"{place}/{name}")


def documents():
    """Every JSON document with a schema that the repository ships."""
    for path in sorted([*ROOT.glob("data/**/*.json"), *ROOT.glob("data/**/*.json.gz"), *ROOT.glob("profiles/*.json")]):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        document = json.loads(text)
        # The record of convcast's own speed is no document that it reads.
        if isinstance(document, dict) and str(document.get("schema", "")).startswith("convcast/") and path.name != "benchmark.json":
            yield path.relative_to(ROOT), document


def main():
    make_schemas, update = sys.argv[1], "--update" in sys.argv
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([make_schemas, folder], check=True)
        structs = Structs(HEADERS)
        schemas = {path.name: schema_of(json.loads(path.read_text(), parse_float=Number), structs)
                   for path in sorted(pathlib.Path(folder).glob("*.json"))}
        if update:
            for name, schema in schemas.items():
                (SCHEMAS / name).write_text(text_of(schema) + "\n")
        names = {path.name for path in SCHEMAS.glob("*.json")}
        if names != set(schemas):
            wrong.append(f"docs/schemas has other files: {sorted(names ^ set(schemas))}")
        wrong += [f"docs/schemas/{name} is not what make_schemas makes: tests/schemas/schemas.py MAKE_SCHEMAS --update"
                  for name in schemas if name in names and (SCHEMAS / name).read_text() != text_of(schemas[name]) + "\n"]
    by_kind = {schema["properties"]["schema"]["const"]: schema for schema in schemas.values()}
    checked = 0
    for path, document in documents():
        schema = by_kind.get(document["schema"])
        found = [f"no schema for {document['schema']}"] if schema is None else problems(document, schema, schema)
        wrong += [f"{path}{problem}" for problem, _ in zip(found, range(5))]
        checked += 1
    # A schema that forbids nothing would pass everything.
    study = by_kind["convcast/study/1"]
    for bad in ({"shapes": [1]}, {"shape": []}, {"counts": ["1"]}, {"schema": "convcast/study/2"}, []):
        if not list(problems(bad, study, study)):
            wrong.append(f"the schema of studies takes {bad}")
    print("\n".join(wrong) or f"{checked} documents are as their {len(schemas)} schemas say")
    return 1 if wrong or checked < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
