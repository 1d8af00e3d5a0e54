"""The comments of structs and of their members, from the headers that declare them."""
import re

STRUCT = re.compile(r"((?:^ *///[^\n]*\n)*)^ *struct (\w+)(?:\s*:([^{;]*))?\s*\{\n(.*?)^ *\};", re.M | re.S)


def names_of(declaration):
    """Names that a declaration of members declares; none of a function or a constant."""
    if "static " in declaration or declaration.startswith("using "):
        return []
    bare = ""
    while bare != declaration:  # without arguments of templates and initializers in braces
        bare, declaration = declaration, re.sub(r"<[^<>]*>|\{[^{}]*\}", "", declaration)
    parts = [part.split("=")[0] for part in declaration.split(",")]
    return [] if "(" in "".join(parts) else [word[-1] for part in parts if (word := re.findall(r"\w+", part))]


def comments_of(body):
    """By a struct's members: what stands above them, or behind them with ///<."""
    found, pending, declaration, behind = {}, [], "", []
    for line in map(str.strip, body.splitlines()):
        code, sign, said = line.partition("///")
        said = said.lstrip("<").strip()
        if code.strip() or not sign:
            behind = [] if not line.startswith("//") else behind
            if not line or line.startswith(("//", "BOOST_", "CONVCAST_")):
                pending, declaration = [], ""
                continue
            declaration = f"{declaration} {code.strip()}".strip()
            ends = declaration.endswith((";", "}"))
            if not ends and not sign:
                continue
            behind = names_of(declaration[:-1]) if ends else []
            found.update({name: list(pending) for name in behind})
            if ends:
                pending, declaration = [], ""
        if said and behind and line[len(code):].startswith("///<"):
            for name in behind:
                found[name].append(said)
        elif said and not (code.strip() and declaration == ""):
            pending.append(said)
    return {name: " ".join(texts) for name, texts in found.items()}


class Structs:
    def __init__(self, headers):
        self.comments, self.bases, self.members = {}, {}, {}
        for header in headers:
            for above, name, bases, body in STRUCT.findall(header.read_text()):
                self.comments[name] = " ".join(line.strip().lstrip("/").strip() for line in above.splitlines())
                self.bases[name] = [word for word in re.findall(r"\w+", bases) if word != "public"]
                self.members[name] = comments_of(body)

    def comment_of(self, name, member):
        """The comment of a member of a struct or of one of its bases; "" where there is none."""
        own = self.members.get(name, {})
        return own[member] if member in own else next(
            (text for base in self.bases.get(name, []) if base != name and (text := self.comment_of(base, member))), "")
