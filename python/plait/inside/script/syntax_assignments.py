"""Assignments of recorded functions: to variables, and to elements of tensors."""

import ast

from plait.inside.script.syntax_code import code, copied, expression


class Assignments:
    """The methods of a recorded function for these statements: x[i] = y assigns another tensor to x."""

    def _on_AugAssign(self, node, _loop):
        if isinstance(node.target, ast.Subscript):
            index = self.unit.name("index")
            item = ast.Subscript(copied(node.target.value), expression(node, index), ast.Load())
            changed = ast.copy_location(ast.BinOp(ast.copy_location(item, node), node.op, node.value), node)
            begin = code(node, f"{index} = __INDEX__", __INDEX__=self._index(node.target.slice))
            return begin + self._set_item(node, node.target.value, expression(node, index), changed)
        is_name = isinstance(node.target, ast.Name)
        return (self._check(node, node.target.id) if is_name else []) + [self.expressions.visit(node)]

    def _on_Assign(self, node, _loop):
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            return self._set_item(node, node.targets[0].value, self._index(node.targets[0].slice), node.value)
        # Each x[i] among several targets is set by a statement of its own.
        assignments = []

        class WithoutItems(ast.NodeTransformer):
            def visit_Subscript(inner, target):  # noqa: N805: self is the function
                name = self.unit.name("part")
                assignments.append(ast.copy_location(ast.Assign([target], expression(target, name)), target))
                return ast.copy_location(ast.Name(name, ast.Store()), target)

            def visit_Attribute(inner, target):  # noqa: N805
                return target

        node.targets = [WithoutItems().visit(each) for each in node.targets]
        return [self.expressions.visit(node)] + [statement for each in assignments for statement in self._on_Assign(each, None)]

    def _set_item(self, node, base, index, value):
        """base[index] = value, which binds a variable to another tensor."""
        value = self.expressions.visit(value)
        if isinstance(base, ast.Name) and base.id in self.locals:
            return self._check(node, base.id) + code(node, f"{base.id} = __plait__.with_item({base.id}, __INDEX__, __GIVEN__)",
                                                     __INDEX__=index, __GIVEN__=value)
        return code(node, f"__plait__.set_item(__BASE__, __INDEX__, __GIVEN__, {ast.unparse(base)!r}, {self.unit.place(node)!r})",
                    __BASE__=self.expressions.visit(base), __INDEX__=index, __GIVEN__=value)

    def _index(self, node):
        """The expression in brackets, as a value."""
        if isinstance(node, ast.Slice):
            parts = [ast.copy_location(ast.Constant(None), node) if each is None else self.expressions.visit(each)
                     for each in (node.lower, node.upper, node.step)]
            return ast.copy_location(ast.Call(expression(node, "__plait__.slice"), parts, []), node)
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple([self._index(each) for each in node.elts], ast.Load()), node)
        return self.expressions.visit(node)

    def _check(self, node, name):
        return code(node, f"__plait__.use({name}, {name!r})")

    def _on_Delete(self, node, _loop):
        result = []
        for each in node.targets:
            if isinstance(each, ast.Name):
                result += self._check(node, each.id) + code(node, f"{each.id} = __plait__.unbound")
            else:
                result.append(self.expressions.visit(ast.copy_location(ast.Delete([each]), node)))
        return result
