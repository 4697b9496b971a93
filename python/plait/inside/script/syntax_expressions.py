"""Expressions of recorded functions."""

import ast

from plait.inside.script.syntax_code import expression
from plait.inside.script.syntax_names import contains, parameters_of


class Expressions(ast.NodeTransformer):
    """Expressions of a recorded function: `and`, `or`, `not`, `a if c else b` and a < b < c may depend on tensors,
    and names that may be unassigned are checked."""

    def __init__(self, function, checked):
        self.function, self.unit, self.checked = function, function.unit, checked

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.checked:
            return expression(node, f"__plait__.use({node.id}, {node.id!r})")
        return node

    def later(self, node):
        """A function that computes it, or None if it must be evaluated in place."""
        if contains([node], (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)):
            return None
        return ast.copy_location(ast.Lambda(ast.arguments([], [], None, [], [], None, []), node), node)

    def _plain(self, node, what):
        return expression(node, f"__plait__.plain(__TEST__, {what!r}, {self.unit.place(node)!r})", __TEST__=node)

    def visit_BoolOp(self, node):
        values = [self.visit(each) for each in node.values]
        later = [self.later(each) for each in values]
        if None in later[1:]:
            node.values = [self._plain(each, "an assignment inside of an expression") for each in values]
            return node
        which = "both" if isinstance(node.op, ast.And) else "either"
        number = self.unit.site(node, ("value",))
        result = values[-1]
        for value in reversed(values[:-1]):
            result = expression(node, f"__plait__.{which}({number}, __FIRST__, __SECOND__)", __FIRST__=value, __SECOND__=self.later(result))
        return result

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return expression(node, f"__plait__.negated({self.unit.place(node)!r}, __GIVEN__)", __GIVEN__=node.operand)
        return node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        then, otherwise = self.later(node.body), self.later(node.orelse)
        if then is None or otherwise is None:
            node.test = self._plain(node.test, "an assignment inside of an expression")
            return node
        number = self.unit.site(node, ("value",))
        return expression(node, f"__plait__.choose({number}, __TEST__, __THEN__, __OTHERWISE__)", __TEST__=node.test, __THEN__=then,
                          __OTHERWISE__=otherwise)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        later = [self.later(each) for each in node.comparators]
        if None in later:
            return node
        number = self.unit.site(node, ("value",))
        names = ast.copy_location(ast.Constant(tuple(type(each).__name__ for each in node.ops)), node)
        functions = ast.copy_location(ast.Tuple(later, ast.Load()), node)
        return expression(node, f"__plait__.compared({number}, __FIRST__, __NAMES__, __LATER__)", __FIRST__=node.left, __NAMES__=names,
                          __LATER__=functions)

    def visit_Lambda(self, node):
        node.args = self.generic_visit(node.args)
        node.body = Expressions(self.function, self.checked - set(parameters_of(node.args))).visit(node.body)
        return node

    def _comprehension(self, node):
        first = self.visit(node.generators[0].iter)
        own = {name.id for each in node.generators for name in ast.walk(each.target) if isinstance(name, ast.Name)}
        inner = Expressions(self.function, self.checked - own)
        node.generators[0].iter = ast.copy_location(ast.Constant(None), first)
        inner.generic_visit(node)
        node.generators[0].iter = first
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.function.parameters:
            node.args = [expression(node, "__class__"), expression(node, self.function.parameters[0])]
        return node

    def visit_ClassDef(self, node):
        return node
