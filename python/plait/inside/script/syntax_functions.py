"""Functions in two forms: one for when nothing is recorded, and one that is recorded, whose branches and loops may depend on
tensors. It consists of functions of single branches and steps (script_run.py runs these)."""

import ast

from plait.inside.script.syntax_assignments import Assignments
from plait.inside.script.syntax_code import RETURNED, VALUE, code, copied, expression
from plait.inside.script.syntax_exits import always_exits, exits_of, with_rest_inside
from plait.inside.script.syntax_expressions import Expressions
from plait.inside.script.syntax_liveness import note_live_names
from plait.inside.script.syntax_names import FUNCTIONS, body_of, bound_by, changed_by, contains, declared_by, own_nodes, parameters_of


class _Loop:
    def __init__(self, node, number):
        self.node = node
        self.broken, self.continued = f"__broken_{number}__", f"__continued_{number}__"
        self.exits = exits_of(node.body)


class _Recorded(Assignments):
    """The body of a function in its recorded form."""

    def __init__(self, unit, node, outer=None):
        self.unit, self.node = unit, node
        body = body_of(node)
        self.parameters = parameters_of(node.args)
        self.globals, self.nonlocals = declared_by(body, ast.Global), declared_by(body, ast.Nonlocal)
        bound = bound_by(body)
        self.locals = (bound | set(self.parameters)) - self.globals - self.nonlocals
        within = [each for each in ast.walk(ast.Module(body, [])) if isinstance(each, FUNCTIONS + (ast.ClassDef,))]
        mentioned = {each.id for one in within for each in ast.walk(one) if isinstance(each, ast.Name)}
        written = set().union(*[declared_by(body_of(each), ast.Nonlocal) for each in within])
        self.written = (written & self.locals) | ((outer.written if outer else set()) - self.locals)
        self.captured = mentioned | self.globals | self.nonlocals
        caught = {each.name for each in own_nodes(body) if isinstance(each, ast.ExceptHandler) and each.name}
        self.changing = (changed_by(body) & (self.locals | bound)) - caught
        self.checked = (bound & self.locals) | ((outer.checked if outer else set()) - self.locals)
        self.flags = []
        self.expressions = Expressions(self, self.checked)
        self.is_generator = contains(body, (ast.Yield, ast.YieldFrom))

    # -- The whole function.

    def lowered(self):
        body = with_rest_inside(list(self.node.body))
        self.leaves_early = "return" in exits_of(body[:-1]) or bool(body and not isinstance(body[-1], ast.Return)
                                                                  and "return" in exits_of(body[-1:]))
        if self.leaves_early and contains(body, ast.Return) and not always_exits(body):
            end = ast.copy_location(ast.Return(None), body[-1])
            end.lineno = end.end_lineno = max(getattr(each, "end_lineno", 0) or 0 for each in ast.walk(body[-1]))
            body = with_rest_inside(body + [end])
        note_live_names(body)
        if self.leaves_early:
            self.flags += [RETURNED, VALUE]
        lowered = self._block(body, None)
        begin = []
        for name in sorted(self.locals - set(self.parameters)):
            begin += code(self.node, f"{name} = __plait__.unbound")
        for flag in self.flags:
            begin += code(self.node, f"{flag} = {'__plait__.unbound' if flag == VALUE else 'False'}")
        declared = [ast.copy_location(kind(sorted(names)), self.node)
                    for kind, names in ((ast.Global, self.globals), (ast.Nonlocal, self.nonlocals)) if names]
        end = code(self.node, f"return __plait__.result({RETURNED}, {VALUE})") if self.leaves_early else []
        return declared + begin + lowered + end

    def _function(self, like, name, body, extra=""):
        """`def name(extra): body`, which assigns to the variables of the enclosing function."""
        bound = {each for each in bound_by(body) if each not in self.unit.made and each not in extra.split(", ")}
        declared = [ast.copy_location(kind(sorted(names)), like)
                    for kind, names in ((ast.Global, bound & self.globals), (ast.Nonlocal, bound - self.globals)) if names]
        return code(like, f"""
            def {name}({extra}):
                __BODY__
            """, __BODY__=declared + body)

    def _state(self, like, names):
        get, put = self.unit.name("get"), self.unit.name("set")
        given = "".join(f"{each}, " for each in names)
        return get, put, (self._function(like, get, code(like, f"return ({given})")) +
                          self._function(like, put, code(like, f"({given}) = __s__" if names else "pass"), "__s__"))

    # -- Statements.

    def _block(self, nodes, loop):
        result = []
        for i, node in enumerate(nodes):
            exits, rest, is_last = exits_of([node]), nodes[i + 1:], always_exits([node])  # computed first: lowering removes the exits
            result += self._statement(node, loop)
            if is_last or not rest:
                break
            if exits:
                test, parts = self._none_set(node, exits, loop), copied(rest)
                result += self._if(rest[0], test, self._block(rest, loop), [], parts, rest[-1]._out, loop, tuple(self._flags_of(exits, loop)))
                break
        return result

    def _none_set(self, like, exits, loop):
        return expression(like, f"__plait__.none_set({', '.join(self._flags_of(exits, loop))})")

    def _flags_of(self, exits, loop):
        names = [RETURNED] if "return" in exits else []
        names += [loop.broken] if "break" in exits else []
        return names + ([loop.continued] if "continue" in exits else [])

    def _statement(self, node, loop):
        method = getattr(self, "_on_" + type(node).__name__, None)
        return [self.expressions.visit(node)] if method is None else method(node, loop)

    def _on_Global(self, _node, _loop):
        return []

    _on_Nonlocal = _on_Global

    def _on_Return(self, node, _loop):
        value = self.expressions.visit(node.value) if node.value else ast.copy_location(ast.Constant(None), node)
        if not self.leaves_early:
            return [ast.copy_location(ast.Return(value), node)]
        return code(node, f"{VALUE} = __RESULT__\n{RETURNED} = True", __RESULT__=value)

    def _on_Break(self, node, loop):
        return code(node, f"{loop.broken} = True")

    def _on_Continue(self, node, loop):
        return code(node, f"{loop.continued} = True")

    def _on_Raise(self, node, _loop):
        text = ast.unparse(node.exc) if node.exc else "raise"
        node = self.expressions.visit(node)
        if node.exc is None:
            return code(node, f"__plait__.plain_here('raise', {self.unit.place(node)!r})") + [node]
        function = ast.copy_location(ast.Lambda(ast.arguments([], [], None, [], [], None, []), node.exc), node)
        return code(node, f"""
            if __plait__.is_decided():
                __plait__.fails(__RAISED__, {text!r})
                {RETURNED} = True
            else:
                __RAISE__
            """, __RAISED__=function, __RAISE__=[node])

    def _on_Assert(self, node, _loop):
        text = ast.unparse(node.test)
        message = expression(node, "None") if node.msg is None else self.expressions.later(self.expressions.visit(node.msg))
        place = self.unit.place(node)
        return code(node, f"__plait__.asserted(__TEST__, __MESSAGE__, {text!r}, {place!r})", __TEST__=self.expressions.visit(node.test),
                    __MESSAGE__=message)

    def _on_FunctionDef(self, node, _loop):
        return nested(self.unit, node, self)

    def _on_AsyncFunctionDef(self, node, _loop):
        return [node]

    def _on_With(self, node, loop):
        node.items = [self.expressions.visit(each) for each in node.items]
        node.body = self._block(node.body, loop)
        return [node]

    def _on_Try(self, node, loop):
        exits, rest, parts = exits_of(node.body), node.orelse, copied(node.orelse)
        node.body = self._block(node.body, loop)
        if rest and exits:
            node.orelse = self._if(rest[0], self._none_set(node, exits, loop), self._block(rest, loop), [], parts, rest[-1]._out, loop,
                                   tuple(self._flags_of(exits, loop)))
        else:
            node.orelse = self._block(rest, loop)
        for each in node.handlers:
            each.body = self._block(each.body, loop)
            if each.type is not None:
                each.type = self.expressions.visit(each.type)
        node.finalbody = self._block(node.finalbody, loop)
        return [node]

    def _on_Match(self, node, loop):
        node.subject = self.expressions.visit(node.subject)
        for each in node.cases:
            each.guard = self.expressions.visit(each.guard) if each.guard else None
            each.body = self._block(each.body, loop)
        return [node]

    def _on_If(self, node, loop):
        test = self.expressions.visit(node.test)
        parts = copied(node.body + node.orelse)
        return self._if(node, test, self._block(node.body, loop), self._block(node.orelse, loop), parts, node._out, loop)

    def _if(self, like, test, body, orelse, parts, out, loop, guards=()):
        """`if test: body else: orelse`; `parts` are its statements before lowering."""
        if contains(parts, (ast.Yield, ast.YieldFrom, ast.Await)):
            test = expression(like, f"__plait__.plain(__TEST__, 'yield', {self.unit.place(like)!r})", __TEST__=test)
            return [ast.copy_location(ast.If(test, body or code(like, "pass"), orelse), like)]
        exits = exits_of(parts)
        used = out | self.captured
        used |= loop.node._out if "break" in exits else frozenset()
        used |= loop.node._head if "continue" in exits else frozenset()
        flags = self._flags_of(exits, loop)
        own = flags + [VALUE] * ("return" in exits)
        names = sorted((changed_by(parts) & self.changing) | self.written) + own
        number = self.unit.site(like, tuple(names), live=used | self.written | set(own), dead=self._dead(names, loop), flags=flags,
                                guards=guards)
        then, other = self.unit.name("then"), self.unit.name("else")
        get, put, state = self._state(like, names)
        return (self._function(like, then, body) + self._function(like, other, orelse) + state +
                code(like, f"__plait__.branch({number}, __TEST__, {then}, {other}, {get}, {put})", __TEST__=test))

    def _dead(self, names, loop):
        dead = {RETURNED: frozenset(names)}
        if loop is not None:
            dead[loop.broken] = frozenset(names) - loop.node._out - self.captured
            dead[loop.continued] = frozenset(names) - loop.node._head - self.captured
        return dead

    def _loop(self, node, targets):
        """The common parts of all loops: the loop, the names of its variables, and its site."""
        loop = _Loop(node, len(self.flags))
        flags = self._flags_of(loop.exits - {"continue"}, loop)
        self.flags += ([loop.broken] if "break" in loop.exits else []) + ([loop.continued] if "continue" in loop.exits else [])
        used = node._head | node._out | node._ended | self.captured
        own = flags + [VALUE] * ("return" in loop.exits)
        names = sorted((changed_by([*node.body, *targets]) & self.changing) | self.written) + own
        dead = {flag: frozenset(names) - (node._out if flag == loop.broken else frozenset()) - self.captured for flag in flags}
        number = self.unit.site(node, tuple(names), live=used | self.written | set(own), dead=dead, flags=flags,
                                guards=tuple(flags))
        return loop, names, flags, number

    def _on_While(self, node, _loop):
        return self._any_loop(node, _loop, [node.test])

    def _on_For(self, node, _loop):
        return self._any_loop(node, _loop, [node.target])

    def _any_loop(self, node, outer, targets):
        is_while = isinstance(node, ast.While)
        loop, names, flags, number = self._loop(node, targets)
        go_on = expression(node, f"__plait__.none_set({', '.join(flags)})")
        body = code(node, f"{loop.continued} = False") if "continue" in loop.exits else []
        test = self.expressions.visit(node.test if is_while else node.iter)
        test = test if is_while else self._staged_iterable(test)
        if contains([*node.body, *targets], (ast.Yield, ast.YieldFrom, ast.Await)):
            result = self._plain_loop(node, loop, test, body, go_on)
        else:
            assigned = [] if is_while else [ast.copy_location(ast.Assign([node.target], expression(node, "__item__")), node)]
            step = self.unit.name("step")
            get, put, state = self._state(node, names)
            assigned = [one for each in assigned for one in self._on_Assign(each, None)]
            result = self._function(node, step, body + assigned + self._block(node.body, loop),
                                    "" if is_while else "__item__") + state
            goes = "None"
            if flags:
                goes = self.unit.name("goes")
                result += self._function(node, goes, code(node, "return __GO__", __GO__=go_on))
            if is_while:
                name = self.unit.name("test")
                result += self._function(node, name, code(node, "return __TEST__", __TEST__=test))
                result += code(node, f"__plait__.while_loop({number}, {goes}, {name}, {step}, {get}, {put})")
            else:
                result += code(node, f"__plait__.for_loop({number}, {goes}, __ITERABLE__, {step}, {get}, {put})", __ITERABLE__=test)
        if node.orelse:
            parts, orelse = copied(node.orelse), self._block(node.orelse, outer)
            result += self._if(node.orelse[0], go_on, orelse, [], parts, node._out, outer) if flags else orelse
        return [*code(node, "".join(f"{flag} = False\n" for flag in flags if flag == loop.broken)), *result]

    def _staged_iterable(self, node):
        """Calls of range, enumerate, zip and reversed are replaced, so that they accept tensors."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
            return node
        arguments = ast.copy_location(ast.Tuple([self._staged_iterable(each) for each in node.args], ast.Load()), node)
        return expression(node, "__plait__.iterable(__FUNCTION__, __ARGUMENTS__)", __FUNCTION__=node.func, __ARGUMENTS__=arguments)

    def _plain_loop(self, node, loop, test, body, go_on):
        reason = f"'yield', {self.unit.place(node)!r}"
        block = body + self._block(node.body, loop)
        if isinstance(node, ast.While):
            both = expression(node, f"__plait__.plain(__GO__, {reason}) and __plait__.plain(__TEST__, {reason})", __GO__=go_on,
                              __TEST__=test)
            return [ast.copy_location(ast.While(both, block, []), node)]
        stop = code(node, f"""
            if not __plait__.plain(__GO__, {reason}):
                break
            """, __GO__=go_on)
        target = self.expressions.visit(node.target)
        items = expression(node, "__plait__.plain_items(__ITERABLE__)", __ITERABLE__=test)
        return [ast.copy_location(ast.For(target, items, stop + block, []), node)]


class _Eager(ast.NodeTransformer):
    """Functions nested in a function that runs unchanged: each chooses its own form."""

    def __init__(self, unit):
        self.unit = unit

    def visit_FunctionDef(self, node):
        return nested(self.unit, node, None)

    def visit_AsyncFunctionDef(self, node):
        return node

    def visit_ClassDef(self, node):
        return node

    def visit_Lambda(self, node):
        return either_lambda(self.unit, node)


def is_decided(function):
    """True if some part of a function may depend on a tensor."""
    kinds = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Not, ast.Compare, ast.Assert, ast.Raise, *FUNCTIONS)
    return any(isinstance(node, kinds) for each in body_of(function) for node in ast.walk(each))


def nested(unit, node, outer):
    """A nested function; `outer` is the enclosing one if it is being recorded."""
    if not is_decided(node):
        if outer is not None:
            node = _inner_names(outer, node)
        return [node]
    number = len(unit.functions)
    unit.functions.append(node.name)
    site = unit.name("function")
    made = either(unit, node, site, outer)
    expressions = outer.expressions if outer is not None else _Eager(unit)
    made.decorator_list = [expressions.visit(each) for each in node.decorator_list]
    made.args = expressions.generic_visit(node.args)
    return code(node, f"{site} = __plait__.function({number})") + [made]


def _inner_names(outer, node):
    inner = Expressions(outer, outer.checked - bound_by(node.body) - set(parameters_of(node.args)))
    node.args = outer.expressions.generic_visit(node.args)
    node.body = [inner.visit(each) for each in node.body]
    return node


def either(unit, node, site, outer):
    """The function, which tests whether it is being recorded."""
    recorded = _Recorded(unit, copied(node), outer)
    body = recorded.lowered()
    parameters = "".join(f"{each}, " for each in recorded.parameters)
    name = unit.name("body")
    call = f"__plait__.called({site}, {name}, ({parameters}))"
    if recorded.is_generator:
        call = f"(yield from {name}({parameters}))"
    is_documented = node.body and isinstance(node.body[0], ast.Expr) and isinstance(getattr(node.body[0], "value", None), ast.Constant)
    documentation, rest = (node.body[:1], node.body[1:]) if is_documented else ([], node.body)
    staged = code(node, f"""
        def {name}({parameters}):
            __BODY__
        return {call}
        """, __BODY__=body)
    plain = []
    if outer is None:
        staged = code(node, "if __plait__.is_staging():\n    __BODY__", __BODY__=staged)
        visited = [_Eager(unit).visit(each) for each in rest]
        plain = [one for each in visited for one in (each if isinstance(each, list) else [each])]
    made = ast.FunctionDef(node.name, node.args, documentation + staged + plain, [], None, None)
    return ast.copy_location(made, node)


def either_lambda(unit, node):
    if not is_decided(node):
        return node
    recorded = _Recorded(unit, copied(node))
    body = recorded.expressions.visit(recorded.node.body)
    node.body = expression(node.body, "__RECORDED__ if __plait__.is_staging() else __PLAIN__", __RECORDED__=body,
                           __PLAIN__=_Eager(unit).visit(node.body))
    return node
