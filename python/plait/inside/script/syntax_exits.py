"""Statements that leave a function, a loop or a step: where, and equivalent ones without statements behind them."""

import ast

from plait.inside.script.syntax_names import FUNCTIONS


def exits_of(nodes):
    """The ways to leave these statements other than at their end: "return", "break", "continue"."""
    kinds = set()
    for node in nodes:
        if isinstance(node, (ast.Return, ast.Raise)):
            kinds.add("return")
        elif isinstance(node, ast.Break):
            kinds.add("break")
        elif isinstance(node, ast.Continue):
            kinds.add("continue")
        elif isinstance(node, (ast.For, ast.While)):
            kinds |= (exits_of(node.body) & {"return"}) | exits_of(node.orelse)
        elif not isinstance(node, FUNCTIONS + (ast.ClassDef,)):
            kinds |= exits_of(ast.iter_child_nodes(node))
    return kinds


def always_exits(nodes):
    for node in nodes:
        if isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return True
        if isinstance(node, ast.If) and always_exits(node.body) and always_exits(node.orelse):
            return True
        if isinstance(node, ast.Try) and always_exits(node.finalbody):
            return True
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value and "break" not in exits_of(node.body):
            return True
    return False


def with_rest_inside(nodes):
    """Equivalent statements: if one branch of an `if` never reaches its end, the statements after the `if` move into
    the other branch."""
    result = []
    for i, node in enumerate(nodes):
        for field in ("body", "orelse", "finalbody"):
            if getattr(node, field, None) and not isinstance(node, FUNCTIONS + (ast.ClassDef,)):
                setattr(node, field, with_rest_inside(getattr(node, field)))
        for each in getattr(node, "handlers", []) + getattr(node, "cases", []):
            each.body = with_rest_inside(each.body)
        result.append(node)
        rest = nodes[i + 1:]
        if isinstance(node, ast.If) and rest and (always_exits(node.body) or always_exits(node.orelse)):
            if not always_exits(node.body):
                node.body = node.body + with_rest_inside(rest)
            elif not always_exits(node.orelse):
                node.orelse = node.orelse + with_rest_inside(rest)
            break
        if always_exits([node]):
            break
    return result
