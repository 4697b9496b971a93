"""Names that code assigns and uses."""

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def own_nodes(nodes):
    """All nodes except those inside of nested functions and classes."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, FUNCTIONS + (ast.ClassDef,)):
            outside = list(getattr(node, "decorator_list", []))
            if isinstance(node, ast.ClassDef):
                outside += node.bases + [each.value for each in node.keywords]
            else:
                outside += node.args.defaults + [each for each in node.args.kw_defaults if each is not None]
            pending += outside[::-1]
        else:
            pending += list(ast.iter_child_nodes(node))[::-1]


def bound_by(nodes):
    """The names that statements assign, without those of comprehensions."""
    inner = {id(name) for node in own_nodes(nodes) if isinstance(node, _COMPREHENSIONS)
             for each in node.generators for name in ast.walk(each.target)}
    names = set()
    for node in own_nodes(nodes):
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


def changed_by(nodes):
    """Also x, for x[i] = ..."""
    return bound_by(nodes) | {node.value.id for node in own_nodes(nodes) if isinstance(node, ast.Subscript)
                               and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)}


def used_by(node):
    """The names that are read, and, to be safe, all names in nested functions."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def declared_by(nodes, kind):
    return {name for node in own_nodes(nodes) if isinstance(node, kind) for name in node.names}


def parameters_of(arguments):
    given = arguments.posonlyargs + arguments.args + ([arguments.vararg] if arguments.vararg else [])
    return [each.arg for each in given + arguments.kwonlyargs + ([arguments.kwarg] if arguments.kwarg else [])]


def body_of(function):
    return [function.body] if isinstance(function, ast.Lambda) else function.body


def contains(nodes, kinds):
    return any(isinstance(node, kinds) for node in own_nodes(nodes))
