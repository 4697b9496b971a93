"""Which names are used later: `_out` of each statement, `_head` and `_ended` of loops."""

import ast

from plait.inside.script.syntax_names import bound_by, contains, used_by


def note_live_names(nodes):
    """The live names in the statements of a function."""
    _live(nodes, frozenset(), _Exits())


class _Exits:
    """The names that are live where `break` and `continue` jump to, and where an exception is caught."""

    def __init__(self, after=frozenset(), head=frozenset(), raised=frozenset()):
        self.after, self.head, self.raised = after, head, raised


def _live(nodes, out, exits):
    """The names that are live before the statements, if `out` is live after them."""
    for node in reversed(nodes):
        out = _live_before(node, frozenset(out) | exits.raised, exits)
    return frozenset(out) | exits.raised


def _live_before(node, out, exits):
    node._out = out
    if isinstance(node, (ast.Return, ast.Raise)):
        return exits.raised | used_by(node)
    if isinstance(node, ast.Break):
        return exits.after | exits.raised
    if isinstance(node, ast.Continue):
        return exits.head | exits.raised
    if isinstance(node, ast.If):
        return used_by(node.test) | _live(node.body, out, exits) | _live(node.orelse, out, exits)
    if isinstance(node, (ast.While, ast.For)):
        ended = _live(node.orelse, out, exits)
        test = node.test if isinstance(node, ast.While) else node.iter
        targets = set() if isinstance(node, ast.While) else bound_by([node.target])
        head = ended | (used_by(test) if isinstance(node, ast.While) else frozenset())
        while True:
            further = head | (_live(node.body, head, _Exits(out, head, exits.raised)) - targets)
            if further == head:
                break
            head = further
        node._head, node._ended = head, ended
        return head | used_by(test)
    if isinstance(node, ast.Try):
        final = _live(node.finalbody, out, exits)
        around = _Exits(exits.after | final, exits.head | final, exits.raised | final)
        caught = final.union(*[_live(each.body, final, around) | (used_by(each.type) if each.type else set())
                               for each in node.handlers])
        within = _Exits(around.after, around.head, around.raised | caught)
        return _live(node.body, _live(node.orelse, final, around), within)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return _live(node.body, out, exits).union(*[used_by(each) for each in node.items])
    if isinstance(node, ast.Match):
        used = [_live(each.body, out, exits) | used_by(each.pattern) | (used_by(each.guard) if each.guard else set())
                for each in node.cases]
        return out.union(used_by(node.subject), *used)
    certain = set()
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef, ast.Delete)) and getattr(node, "value", node):
        certain = {name for name in bound_by([node]) if not contains([node], ast.NamedExpr)}
    elsewhere = {node.target.id} if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) else set()
    return (out - certain) | used_by(node) | elsewhere
