"""The linear assignment problem, by shortest augmenting paths."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.transforms.control import for_loop, while_loop


def hungarian_algorithm(cost_matrix):
    """The assignment of rows to columns whose sum of costs is least, of as many pairs as there are rows, or columns if they are fewer: the
    indices i of rows and j of columns, so that cost_matrix[i, j] are the costs. The order is optax's: for square matrices that of the
    columns. A cost of infinity forbids a pair. vmap solves many problems together.

    >>> cost = plait.tensor([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
    >>> i, j = plait.optim.hungarian_algorithm(cost)
    >>> i, j, plait.sum(cost[i, j])
    ([1 0 2] : i64[3], [0 1 2] : i64[3], 5. : f32[])
    """
    what = "optim.hungarian_algorithm"
    cost = asarray(cost_matrix)
    if cost.ndim != 2:
        hint = "plait.vmap(plait.optim.hungarian_algorithm)(costs) solves many problems"
        message = f"{what}: the costs are {list(cost.shape)}, expected [rows, columns]"
        raise errors.ShapeError.with_hint(message, hint) if cost.ndim > 2 else errors.ShapeError(message)
    if cost.dtype.kind not in ("floating", "integer", "boolean"):
        raise errors.TypeError(f"{what}: the costs are {cost.dtype.name}, expected real numbers")
    rows, columns = cost.shape
    if rows == 0 or columns == 0:
        none = _core.zeros(0, dtype=_core.i64)
        return none, none
    exact = _core.astype(_core.stop_gradient(cost), _core.f64)
    _core.check(_core.all(exact > -math.inf), f"{what}: a cost is NaN or -inf, expected numbers, or inf for pairs that are forbidden")
    row_of, column_of = _assigned(what, exact if rows <= columns else _core.matrix_transpose(exact))
    if rows == columns:
        return row_of, _core.arange(columns)
    falling = _core.arange(min(rows, columns) - 1, -1, -1)
    others = _core.take(column_of, falling)
    return (falling, others) if rows < columns else (others, falling)


def _assigned(what, cost):
    """For each column its row, or -1, and for each row its column; there are as many columns as rows, or more."""
    n, m = cost.shape
    nothing = _core.full((m,), -1, dtype=_core.i64)
    state = {"u": _core.zeros(n, dtype=_core.f64), "v": _core.zeros(m, dtype=_core.f64), "row_of": nothing,
             "column_of": _core.full((n,), -1, dtype=_core.i64), "is_possible": _core.full((), True)}

    def add_row(row, state):
        path = _shortest_path(cost, row, state)
        is_possible = path["sink"] >= 0
        return {**_with_potentials(row, state, path, is_possible), **_augmented(row, state, path),
                "is_possible": _core.logical_and(state["is_possible"], is_possible)}

    made = for_loop(0, n, add_row, state)
    _core.check(made["is_possible"], f"{what}: too many costs are inf: no assignment has a finite sum")
    return made["row_of"], made["column_of"]


def _shortest_path(cost, row, state):
    """The shortest path, by reduced costs, from a row to a column without a row: the distances of the columns that it has visited, the row
    from which each is reached, and the last column."""
    m = cost.shape[1]
    columns = _core.arange(m)
    start = {"row": row, "low": _core.zeros((), dtype=_core.f64), "sink": _core.full((), -1, dtype=_core.i64), "distance": _core.full((m,), math.inf, dtype=_core.f64),
             "from_row": _core.full((m,), -1, dtype=_core.i64), "is_done": _core.full((m,), False)}

    def is_open(path):
        return _core.logical_and(path["sink"] < 0, path["low"] < math.inf)

    def visit(path):
        reach = path["low"] + _core.take(cost, path["row"], axis=0) - _core.take(state["u"], path["row"]) - state["v"]
        is_nearer = _core.logical_and(~path["is_done"], reach < path["distance"])
        distance = _core.where(is_nearer, reach, path["distance"])
        left = _core.where(path["is_done"], math.inf, distance)
        nearest = _core.argmin(left)
        low, owner = _core.take(left, nearest), _core.take(state["row_of"], nearest)
        is_found = _core.logical_and(owner < 0, low < math.inf)
        return {"row": _core.maximum(owner, 0), "low": low, "sink": _core.where(is_found, nearest, -1), "distance": distance,
                "from_row": _core.where(is_nearer, path["row"], path["from_row"]),
                "is_done": _core.logical_or(path["is_done"], _core.logical_and(columns == nearest, low < math.inf))}

    return while_loop(is_open, visit, start)


def _with_potentials(row, state, path, is_possible):
    """Potentials that make the costs along the path 0."""
    change = _core.where(_core.logical_and(path["is_done"], is_possible), path["low"] - path["distance"], 0.0)
    has_row = state["row_of"] >= 0
    u = state["u"].at[_core.maximum(state["row_of"], 0)].add(_core.where(has_row, change, 0.0))
    return {"u": u.at[row].add(_core.where(is_possible, path["low"], 0.0)), "v": state["v"] - change}


def _augmented(row, state, path):
    """Assigns along the path, from its last column to the row."""
    def assign(carry):
        column = _core.maximum(carry["column"], 0)
        owner = _core.take(path["from_row"], column)
        return {"column": _core.where(owner == row, -1, _core.take(carry["column_of"], owner)), "row_of": carry["row_of"].at[column].set(owner),
                "column_of": carry["column_of"].at[owner].set(column)}

    made = while_loop(lambda carry: carry["column"] >= 0, assign,
                      {"column": path["sink"], "row_of": state["row_of"], "column_of": state["column_of"]})
    return {"row_of": made["row_of"], "column_of": made["column_of"]}
