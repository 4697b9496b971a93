"""script(f): Python's own branches and loops as instructions of programs (docs/control-flow.md)."""

import __future__
import ast
import inspect
import linecache
import types

from plait import errors
from plait.inside.later import Later

script_run = Later("plait.inside.script.script_run")
syntax_code, syntax_functions = Later("plait.inside.script.syntax_code"), Later("plait.inside.script.syntax_functions")

_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag

_trees = {}  # by file: its lines, and its syntax tree


def _tree_of(code, globals_):
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, globals_)
    if not lines:
        raise errors.ValueError(f"script: the source of {code.co_name} is not available ({code.co_filename})\n  hint: put the function into a "
                                "file, or branch by plait.cond and plait.while_loop")
    known = _trees.get(code.co_filename)
    if known is None or known[0] != lines:
        known = _trees[code.co_filename] = (list(lines), ast.parse("".join(lines), code.co_filename))
    return known[1]


def _find(tree, code):
    """The function's node, and the class that contains it."""
    places = [((line, column), (end_line, end_column)) for line, end_line, column, end_column in code.co_positions()
              if None not in (line, end_line, column, end_column) and end_column > 0]

    def is_it(node):
        if isinstance(node, ast.Lambda):
            body = node.body
            begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
            return code.co_name == "<lambda>" and all(begin <= first and last <= end for first, last in places)
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        return node.name == code.co_name and first == code.co_firstlineno

    def look(node, own_class):
        for child in ast.iter_child_nodes(node):
            found = look(child, child.name if isinstance(child, ast.ClassDef) else own_class)
            if found is not None:  # the innermost lambda that contains all of the code
                return found
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and is_it(child):
                return child, own_class
        return None

    return look(tree, None)


def _code_named(code, names):
    """The code of a nested function."""
    for name in names:
        code = next(each for each in code.co_consts if isinstance(each, types.CodeType) and each.co_name == name)
    return code


def script(function):
    """The function, whose `if`, `while`, `for`, `break`, `return`, `and`, `a if c else b` and so on may depend on
    tensors that have no numbers yet: in a trace, under vmap and under jit they become branches and loops of the
    program.

    If nothing is recorded, it runs as ordinary Python code. Statements that depend on Python values only are unrolled
    while it is recorded. A function whose recursion depends on a tensor becomes a function of the program, as with
    plait.recursive.

    >>> @plait.script
    ... def halvings(x):
    ...     count = 0
    ...     while x > 1:
    ...         x, count = x / 2, count + 1
    ...     return count
    >>> plait.jit(halvings)(plait.tensor(100.0))
    7 : i64[]
    """
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(script(function.__func__))
    if not isinstance(function, types.FunctionType):
        what = type(function).__name__
        raise errors.TypeError(f"script: expected a function, not a {what}\n  hint: put it below other decorators, next to the def")
    code = function.__code__
    if "__plait__" in code.co_freevars:
        return function
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise errors.TypeError(f"script: {code.co_filename}:{code.co_firstlineno}: {function.__qualname__} is async\n  hint: script the "
                               "functions that it calls")
    found = _find(_tree_of(code, function.__globals__), code)
    if found is None:
        raise errors.ValueError(f"script: {code.co_filename}:{code.co_firstlineno} does not have {code.co_name} any more\n  hint: the file "
                                "was changed since it was read")
    return _remade(function, *found)


def _remade(function, node, own_class):
    code, node = function.__code__, syntax_code.copied(node)
    unit = syntax_code.Unit(code.co_filename)
    if isinstance(node, ast.Lambda):
        made = ast.copy_location(ast.Expr(syntax_functions.either_lambda(unit, node)), node)
    else:
        made = syntax_functions.either(unit, node, "__plait__.top", None)
        made.lineno = code.co_firstlineno
        for each in ast.walk(made.args):
            if isinstance(each, ast.arg):
                each.annotation = None
        made.args.defaults = [ast.copy_location(ast.Constant(None), made) for _ in made.args.defaults]
        made.args.kw_defaults = [each and ast.copy_location(ast.Constant(None), made) for each in made.args.kw_defaults]
    free = ["__plait__", *code.co_freevars]
    body = [made] if own_class is None else [ast.copy_location(ast.ClassDef(own_class, [], [], [made], []), node)]
    own = own_class or code.co_name
    if isinstance(node, ast.FunctionDef) and own not in free:
        body = [ast.copy_location(ast.Global([own]), node), *body]  # so that its body can refer to itself
    given = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    factory = ast.copy_location(ast.FunctionDef("__factory__", given, body, [], None, None), node)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    compiled = compile(module, code.co_filename, "exec", code.co_flags & _FUTURES, dont_inherit=True)
    path = ["__factory__", *([own_class] if own_class else []), code.co_name]
    new = _code_named(compiled, path).replace(co_qualname=code.co_qualname)
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells["__plait__"] = types.CellType(script_run.Runtime(unit, function.__name__))
    result = types.FunctionType(new, function.__globals__, function.__name__, function.__defaults__,
                                tuple(cells[name] for name in new.co_freevars))
    result.__kwdefaults__, result.__annotations__ = function.__kwdefaults__, function.__annotations__
    result.__qualname__, result.__module__, result.__doc__ = function.__qualname__, function.__module__, function.__doc__
    result.__dict__.update(function.__dict__)
    return result
