"""The functions that the headers of plait/ops declare for users, by name, with their text and comments."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "plait" / "ops"

# Headers for authors of operations, not for users.
NOT_FOR_USERS = {
    "call": "what errors say of a call", "declare": "how primitives are declared",
    "gather": "primitives; brackets are for users", "operand": "what arguments are converted to",
    "scatter": "primitives; x.at[index] is for users", "table": "what plait.ops() gives",
    "update_slice": "a primitive; x.at[index] is for users", "window": "primitives; pooling is for users",
}

# Functions that are called in another way in Python.
ELSEWHERE = {
    "plait.stddev": "plait.std, as NumPy calls it", "plait.index": "x[...]",
    "plait.trace": "plait.linalg.trace; plait.trace records a program",
    "plait.convolution": "a primitive: plait.apply", "plait.convolution_input_gradient": "a primitive: plait.apply",
    "plait.convolution_weight_gradient": "a primitive: plait.apply", "plait.widened": "a helper of sums and scans",
    "plait.call_back": "a part of plait.callback", "plait.keep_callback": "a part of plait.callback",
    "plait.value_like": "a helper of x.at[index]", "plait.broadcast_to_shape": "a helper of x.at[index]",
}


@dataclasses.dataclass(frozen=True)
class Statement:
    """A function's declaration without its body, between two positions of a text."""

    namespace: tuple
    name: str
    begin: int
    end: int


@dataclasses.dataclass(frozen=True)
class Declaration:
    path: str  # "plait.fft.rfft"
    header: str  # the stem of its file, which is also the name of its family
    text: str
    comment: str  # the comment above it


def without_comments(text):
    """Comments are replaced by spaces, so that positions are unchanged."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    return re.sub(r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", blank, text, flags=re.S | re.M)


def matching(text, begin):
    """The position behind the brace that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise ValueError("braces do not match")


def name_declared(statement):
    """The name of a declared function; None for anything else."""
    statement = re.sub(r"^\s*template\s*<[^{}]*?>\s*(?=[a-zA-Z\[])", "", statement.strip())
    if re.match(r"(using|struct|class|enum|static_assert|namespace|friend|extern)\b", statement) or "(" not in statement:
        return None
    before = statement[:statement.index("(")]
    if "=" in before or "operator" in before:
        return None
    name = re.search(r"(\w+)\s*$", before)
    return name and name[1]


def statements_of(text, namespace=(), begin=0, end=None):
    """The functions declared at namespace level in a text without comments."""
    end = len(text) if end is None else end
    place, first, statement = begin, begin, ""

    def declared(until):
        name = name_declared(statement)
        if name:
            yield Statement(namespace, name, first + len(text[first:until]) - len(text[first:until].lstrip()), until)

    while place < end:
        character = text[place]
        if character == ";":
            yield from declared(place + 1)
            statement, first = "", place + 1
        elif character == "{":
            behind = matching(text, place)
            inner = re.search(r"namespace\s+([\w:]+)\s*$", statement)
            is_initialiser = statement.count("(") > statement.count(")")
            if inner:
                yield from statements_of(text, namespace + tuple(inner[1].split("::")), place + 1, behind - 1)
            elif not is_initialiser:
                yield from declared(place)
            is_open = is_initialiser or re.match(r"\s*(struct|class|enum)\b", statement)
            statement, first = (statement + "{}", first) if is_open else ("", behind)
            place = behind - 1
        elif character != "}":
            statement += character
        place += 1


def functions_of(text):
    """(namespace, name) of the functions declared at namespace level."""
    return {(each.namespace, each.name) for each in statements_of(without_comments(text))}


def comment_above(text, begin):
    """The comment that ends directly above a position; none if it is a heading of a section."""
    lines = text[:begin].rstrip(" ").split("\n")[:-1]
    comment = []
    while lines and lines[-1].startswith("//"):
        comment.insert(0, lines.pop())
    return "" if comment and comment[0].startswith("// ----") else "\n".join(comment)


def with_end_of_line(text, end):
    """The end of a comment that follows the statement on its line."""
    rest = re.match(r"[ \t]*//[^\n]*(?:\n[ \t]{8,}//[^\n]*)*", text[end:])
    return end + len(rest[0]) if rest else end


def header_of(family):
    (header,) = (each for each in HEADERS.rglob(f"{family}.h"))
    return header


def public_headers():
    headers = (each for each in HEADERS.rglob("*.h") if "inside" not in each.relative_to(HEADERS).parts)
    return sorted((each for each in headers if each.stem not in NOT_FOR_USERS), key=lambda each: each.stem)


def declarations():
    """All public functions; overloads are adjacent."""
    for header in public_headers():
        text = header.read_text(encoding="utf-8")
        for each in statements_of(without_comments(text)):
            if each.name == "enumerator_names" or re.fullmatch(r"register_\w+", each.name):
                continue
            declared = text[each.begin:with_end_of_line(text, each.end)].rstrip()
            yield Declaration(".".join((*each.namespace, each.name)), header.stem,
                              declared if text[each.end - 1] == ";" else declared + ";", comment_above(text, each.begin))
