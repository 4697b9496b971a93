"""Syntax trees of functions whose branches and loops may depend on tensors: which names they assign and which are
used later, and the functions of single branches and steps that they are turned into (script_run.py runs these)."""

import ast
import textwrap

RETURNED, VALUE = "__returned__", "__value__"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


# ---- Names that code assigns and uses.


def _own_nodes(nodes):
    """All nodes except those inside of nested functions and classes."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, _FUNCTIONS + (ast.ClassDef,)):
            outside = list(getattr(node, "decorator_list", []))
            if isinstance(node, ast.ClassDef):
                outside += node.bases + [each.value for each in node.keywords]
            else:
                outside += node.args.defaults + [each for each in node.args.kw_defaults if each is not None]
            pending += outside[::-1]
        else:
            pending += list(ast.iter_child_nodes(node))[::-1]


def _bound_by(nodes):
    """The names that statements assign, without those of comprehensions."""
    inner = {id(name) for node in _own_nodes(nodes) if isinstance(node, _COMPREHENSIONS)
             for each in node.generators for name in ast.walk(each.target)}
    names = set()
    for node in _own_nodes(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in inner:
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(each.asname or each.name).split(".")[0] for each in node.names}
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names


def _changed_by(nodes):
    """Also x, for x[i] = ..."""
    return _bound_by(nodes) | {node.value.id for node in _own_nodes(nodes) if isinstance(node, ast.Subscript)
                               and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)}


def _used_by(node):
    """The names that are read, and, to be safe, all names in nested functions."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _declared(nodes, kind):
    return {name for node in _own_nodes(nodes) if isinstance(node, kind) for name in node.names}


def parameters_of(arguments):
    given = arguments.posonlyargs + arguments.args + ([arguments.vararg] if arguments.vararg else [])
    return [each.arg for each in given + arguments.kwonlyargs + ([arguments.kwarg] if arguments.kwarg else [])]


def _body_of(function):
    return [function.body] if isinstance(function, ast.Lambda) else function.body


def _contains(nodes, kinds):
    return any(isinstance(node, kinds) for node in _own_nodes(nodes))


def _exits(nodes):
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
            kinds |= (_exits(node.body) & {"return"}) | _exits(node.orelse)
        elif not isinstance(node, _FUNCTIONS + (ast.ClassDef,)):
            kinds |= _exits(ast.iter_child_nodes(node))
    return kinds


def _always_exits(nodes):
    for node in nodes:
        if isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return True
        if isinstance(node, ast.If) and _always_exits(node.body) and _always_exits(node.orelse):
            return True
        if isinstance(node, ast.Try) and _always_exits(node.finalbody):
            return True
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value and "break" not in _exits(node.body):
            return True
    return False


def _with_rest_inside(nodes):
    """Equivalent statements: if one branch of an `if` never reaches its end, the statements after the `if` move into
    the other branch."""
    result = []
    for i, node in enumerate(nodes):
        for field in ("body", "orelse", "finalbody"):
            if getattr(node, field, None) and not isinstance(node, _FUNCTIONS + (ast.ClassDef,)):
                setattr(node, field, _with_rest_inside(getattr(node, field)))
        for each in getattr(node, "handlers", []) + getattr(node, "cases", []):
            each.body = _with_rest_inside(each.body)
        result.append(node)
        rest = nodes[i + 1:]
        if isinstance(node, ast.If) and rest and (_always_exits(node.body) or _always_exits(node.orelse)):
            if not _always_exits(node.body):
                node.body = node.body + _with_rest_inside(rest)
            elif not _always_exits(node.orelse):
                node.orelse = node.orelse + _with_rest_inside(rest)
            break
        if _always_exits([node]):
            break
    return result


# ---- Liveness: `_out` of each statement, and `_head` of loops.


class _Ways:
    """The names that are live where `break` and `continue` jump to, and where an exception is caught."""

    def __init__(self, after=frozenset(), head=frozenset(), raised=frozenset()):
        self.after, self.head, self.raised = after, head, raised


def _live(nodes, out, ways):
    """The names that are live before the statements, if `out` is live after them."""
    for node in reversed(nodes):
        out = _live_before(node, frozenset(out) | ways.raised, ways)
    return frozenset(out) | ways.raised


def _live_before(node, out, ways):
    node._out = out
    if isinstance(node, (ast.Return, ast.Raise)):
        return ways.raised | _used_by(node)
    if isinstance(node, ast.Break):
        return ways.after | ways.raised
    if isinstance(node, ast.Continue):
        return ways.head | ways.raised
    if isinstance(node, ast.If):
        return _used_by(node.test) | _live(node.body, out, ways) | _live(node.orelse, out, ways)
    if isinstance(node, (ast.While, ast.For)):
        ended = _live(node.orelse, out, ways)
        test = node.test if isinstance(node, ast.While) else node.iter
        targets = set() if isinstance(node, ast.While) else _bound_by([node.target])
        head = ended | (_used_by(test) if isinstance(node, ast.While) else frozenset())
        while True:
            further = head | (_live(node.body, head, _Ways(out, head, ways.raised)) - targets)
            if further == head:
                break
            head = further
        node._head, node._ended = head, ended
        return head | _used_by(test)
    if isinstance(node, ast.Try):
        final = _live(node.finalbody, out, ways)
        around = _Ways(ways.after | final, ways.head | final, ways.raised | final)
        caught = final.union(*[_live(each.body, final, around) | (_used_by(each.type) if each.type else set())
                               for each in node.handlers])
        within = _Ways(around.after, around.head, around.raised | caught)
        return _live(node.body, _live(node.orelse, final, around), within)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return _live(node.body, out, ways).union(*[_used_by(each) for each in node.items])
    if isinstance(node, ast.Match):
        used = [_live(each.body, out, ways) | _used_by(each.pattern) | (_used_by(each.guard) if each.guard else set())
                for each in node.cases]
        return out.union(_used_by(node.subject), *used)
    certain = set()
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef, ast.Delete)) and getattr(node, "value", node):
        certain = {name for name in _bound_by([node]) if not _contains([node], ast.NamedExpr)}
    elsewhere = {node.target.id} if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) else set()
    return (out - certain) | _used_by(node) | elsewhere


# ---- Building code.


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


class _Loop:
    def __init__(self, node, number):
        self.node = node
        self.broken, self.continued = f"__broken_{number}__", f"__continued_{number}__"
        self.exits = _exits(node.body)


def is_decided(function):
    """True if some part of a function may depend on a tensor."""
    kinds = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Not, ast.Compare, ast.Assert, ast.Raise, *_FUNCTIONS)
    return any(isinstance(node, kinds) for each in _body_of(function) for node in ast.walk(each))


class _Expressions(ast.NodeTransformer):
    """Expressions of a recorded function: `and`, `or`, `not`, `a if c else b` and a < b < c may depend on tensors,
    and names that may be unassigned are checked."""

    def __init__(self, function, checked):
        self.function, self.unit, self.checked = function, function.unit, checked

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.checked:
            return expression(node, f"__plait__.use({node.id}, {node.id!r})")
        return node

    def _later(self, node):
        """A function that computes it, or None if it must be evaluated in place."""
        if _contains([node], (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)):
            return None
        return ast.copy_location(ast.Lambda(ast.arguments([], [], None, [], [], None, []), node), node)

    def _plain(self, node, what):
        return expression(node, f"__plait__.plain(__TEST__, {what!r}, {self.unit.place(node)!r})", __TEST__=node)

    def visit_BoolOp(self, node):
        values = [self.visit(each) for each in node.values]
        later = [self._later(each) for each in values]
        if None in later[1:]:
            node.values = [self._plain(each, "an assignment inside of an expression") for each in values]
            return node
        which = "both" if isinstance(node.op, ast.And) else "either"
        number = self.unit.site(node, ("value",))
        result = values[-1]
        for value in reversed(values[:-1]):
            result = expression(node, f"__plait__.{which}({number}, __FIRST__, __SECOND__)", __FIRST__=value, __SECOND__=self._later(result))
        return result

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return expression(node, f"__plait__.negated({self.unit.place(node)!r}, __GIVEN__)", __GIVEN__=node.operand)
        return node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        then, otherwise = self._later(node.body), self._later(node.orelse)
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
        later = [self._later(each) for each in node.comparators]
        if None in later:
            return node
        number = self.unit.site(node, ("value",))
        names = ast.copy_location(ast.Constant(tuple(type(each).__name__ for each in node.ops)), node)
        functions = ast.copy_location(ast.Tuple(later, ast.Load()), node)
        return expression(node, f"__plait__.compared({number}, __FIRST__, __NAMES__, __LATER__)", __FIRST__=node.left, __NAMES__=names,
                          __LATER__=functions)

    def visit_Lambda(self, node):
        node.args = self.generic_visit(node.args)
        node.body = _Expressions(self.function, self.checked - set(parameters_of(node.args))).visit(node.body)
        return node

    def _comprehension(self, node):
        first = self.visit(node.generators[0].iter)
        own = {name.id for each in node.generators for name in ast.walk(each.target) if isinstance(name, ast.Name)}
        inner = _Expressions(self.function, self.checked - own)
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


class _Recorded:
    """The body of a function in its recorded form."""

    def __init__(self, unit, node, outer=None):
        self.unit, self.node = unit, node
        body = _body_of(node)
        self.parameters = parameters_of(node.args)
        self.globals, self.nonlocals = _declared(body, ast.Global), _declared(body, ast.Nonlocal)
        bound = _bound_by(body)
        self.locals = (bound | set(self.parameters)) - self.globals - self.nonlocals
        within = [each for each in ast.walk(ast.Module(body, [])) if isinstance(each, _FUNCTIONS + (ast.ClassDef,))]
        mentioned = {each.id for one in within for each in ast.walk(one) if isinstance(each, ast.Name)}
        written = set().union(*[_declared(_body_of(each), ast.Nonlocal) for each in within])
        self.written = (written & self.locals) | ((outer.written if outer else set()) - self.locals)
        self.captured = mentioned | self.globals | self.nonlocals
        caught = {each.name for each in _own_nodes(body) if isinstance(each, ast.ExceptHandler) and each.name}
        self.changing = (_changed_by(body) & (self.locals | bound)) - caught
        self.checked = (bound & self.locals) | ((outer.checked if outer else set()) - self.locals)
        self.flags = []
        self.expressions = _Expressions(self, self.checked)
        self.is_generator = _contains(body, (ast.Yield, ast.YieldFrom))

    # -- The whole function.

    def lowered(self):
        body = _with_rest_inside(list(self.node.body))
        self.leaves_early = "return" in _exits(body[:-1]) or bool(body and not isinstance(body[-1], ast.Return)
                                                                  and "return" in _exits(body[-1:]))
        if self.leaves_early and _contains(body, ast.Return) and not _always_exits(body):
            end = ast.copy_location(ast.Return(None), body[-1])
            end.lineno = end.end_lineno = max(getattr(each, "end_lineno", 0) or 0 for each in ast.walk(body[-1]))
            body = _with_rest_inside(body + [end])
        _live(body, frozenset(), _Ways())
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
        bound = {each for each in _bound_by(body) if each not in self.unit.made and each not in extra.split(", ")}
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
            exits, rest, is_last = _exits([node]), nodes[i + 1:], _always_exits([node])  # computed first: lowering removes the exits
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
        message = expression(node, "None") if node.msg is None else self.expressions._later(self.expressions.visit(node.msg))
        place = self.unit.place(node)
        return code(node, f"__plait__.asserted(__TEST__, __MESSAGE__, {text!r}, {place!r})", __TEST__=self.expressions.visit(node.test),
                    __MESSAGE__=message)

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
        parts = []

        class WithoutItems(ast.NodeTransformer):
            def visit_Subscript(inner, target):  # noqa: N805: self is the function
                name = self.unit.name("part")
                parts.append(ast.copy_location(ast.Assign([target], expression(target, name)), target))
                return ast.copy_location(ast.Name(name, ast.Store()), target)

            def visit_Attribute(inner, target):  # noqa: N805
                return target

        node.targets = [WithoutItems().visit(each) for each in node.targets]
        return [self.expressions.visit(node)] + [one for each in parts for one in self._on_Assign(each, None)]

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

    def _on_FunctionDef(self, node, _loop):
        return nested(self.unit, node, self)

    def _on_AsyncFunctionDef(self, node, _loop):
        return [node]

    def _on_With(self, node, loop):
        node.items = [self.expressions.visit(each) for each in node.items]
        node.body = self._block(node.body, loop)
        return [node]

    def _on_Try(self, node, loop):
        exits, rest, parts = _exits(node.body), node.orelse, copied(node.orelse)
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
        if _contains(parts, (ast.Yield, ast.YieldFrom, ast.Await)):
            test = expression(like, f"__plait__.plain(__TEST__, 'yield', {self.unit.place(like)!r})", __TEST__=test)
            return [ast.copy_location(ast.If(test, body or code(like, "pass"), orelse), like)]
        exits = _exits(parts)
        used = out | self.captured
        used |= loop.node._out if "break" in exits else frozenset()
        used |= loop.node._head if "continue" in exits else frozenset()
        flags = self._flags_of(exits, loop)
        own = flags + [VALUE] * ("return" in exits)
        names = sorted((_changed_by(parts) & self.changing) | self.written) + own
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
        names = sorted((_changed_by([*node.body, *targets]) & self.changing) | self.written) + own
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
        if _contains([*node.body, *targets], (ast.Yield, ast.YieldFrom, ast.Await)):
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


# ---- Functions in two forms: one for when nothing is recorded, and one that is recorded.


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


def copied(node):
    """A deep copy."""
    if isinstance(node, list):
        return [copied(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: copied(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(made, node) if hasattr(node, "lineno") else made


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
    inner = _Expressions(outer, outer.checked - _bound_by(node.body) - set(parameters_of(node.args)))
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
