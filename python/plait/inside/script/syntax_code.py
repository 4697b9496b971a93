"""Building code, and what is known of its statements when it runs."""

import ast
import textwrap

RETURNED, VALUE = "__returned__", "__value__"


class _Holes(ast.NodeTransformer):
    def __init__(self, holes):
        self._holes = holes

    def visit_Name(self, node):
        return self._holes.get(node.id, node)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Name) and isinstance(self._holes.get(node.value.id), list):
            return self._holes[node.value.id] or ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)


def code(like, text, **holes):
    """Parses statements, with the location of the node `like`; names of holes are replaced by expressions and lists
    of statements."""
    tree = ast.parse(textwrap.dedent(text))
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):  # on its first line: calls over several lines count as on their last one
            node.lineno = node.end_lineno = like.lineno
            node.col_offset = node.end_col_offset = like.col_offset
    return _Holes(holes).visit(tree).body


def expression(like, text, **holes):
    return code(like, text, **holes)[0].value


class Site:
    """A statement that may depend on a tensor, and the variables that it may change."""

    def __init__(self, node, file, names, live=None, dead=None, flags=(), guards=()):
        self.place = f"{file}:{node.lineno}"
        self.names = names
        self.live = frozenset(names if live is None else live)  # those that are used afterwards
        self.dead = dead or {}  # by flag: the names that are not used any more once it is set
        self.flags = frozenset(flags)
        self.guards = guards  # the flags of which one is set if the second path, which does nothing, is taken
        self.text = {ast.If: "if", ast.While: "while", ast.For: "for", ast.IfExp: "if ... else",
                     ast.BoolOp: "and / or", ast.Compare: "comparison"}.get(type(node), "if")

    def uses(self, name):
        """True if the name is used afterwards."""
        return name in self.live or name not in self.names


class Unit:
    """All code that is generated for one function of the user."""

    def __init__(self, file):
        self.file, self.sites, self.functions = file, [], []
        self.made = set()  # names of functions for branches and steps

    def site(self, *arguments, **named):
        self.sites.append(Site(arguments[0], self.file, *arguments[1:], **named))
        return len(self.sites) - 1

    def name(self, what):
        name = f"__{what}_{len(self.made)}__"
        self.made.add(name)
        return name

    def place(self, node):
        return f"{self.file}:{node.lineno}"


def copied(node):
    """A deep copy."""
    if isinstance(node, list):
        return [copied(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: copied(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(made, node) if hasattr(node, "lineno") else made
