"""The place of a loader: all that its batches depend on besides its dataset and options, in a few numbers."""

import dataclasses

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.data.samplers import integer, seed_of
from plait.inside.help.names import in_words
from plait.inside.later import Later

np = Later("numpy")


@dataclasses.dataclass
class Position:
    """`place` counts the samples of the epoch that all ranks together have consumed."""

    seed: int
    epoch: int = 0
    place: int = 0
    size: int = -1  # samples in the epoch; -1 if it has not begun, or is a stream's
    done: list = dataclasses.field(default_factory=list)  # without order: where batches begin that were consumed, too
    order: int | None = None  # the checksum of the order of a sampler that does not depend on the seed
    source: dict | None = None  # the state of a stream
    # (batch size, world size, rank) if the state is of no other loader: without order, each rank is at another place, and the batches that are
    # done have this size.
    division: tuple | None = None

    def following(self):
        """The beginning of the next epoch."""
        return Position(self.seed, self.epoch + 1)

    def as_dict(self):
        """The numbers, without those that are not needed."""
        found = {"seed": self.seed, "epoch": self.epoch, "place": self.place, "size": self.size}
        if self.done:
            found["done"] = list(self.done)
        if self.division is not None:
            found["division"] = list(self.division)
        if self.order is not None:
            found["order"] = self.order
        if self.source:
            found["source"] = self.source
        return found

    def as_tree(self):
        """The same as tensors."""
        found = {name: _core.astype(asarray(value), _core.i64) for name, value in self.as_dict().items() if name in ("epoch", "place", "size", "order")}
        found["seed"] = asarray(_u64(self.seed))
        for name, numbers in ("done", self.done), ("division", self.division):
            if numbers:
                found[name] = _core.astype(asarray(list(numbers)), _core.i64)
        if self.source:
            found["source"] = _tensors(self.source)
        return dict(sorted(found.items()))


def _u64(number):
    return np.asarray(number, np.uint64)


def _tensors(state):
    if isinstance(state, dict):
        return {name: _tensors(value) for name, value in state.items()}
    if isinstance(state, (list, tuple)) and all(isinstance(each, (bool, int, float)) for each in state):
        return asarray(np.asarray(state, None if state else np.int64))
    if isinstance(state, float):
        return asarray(np.float64(state))  # not f32, as other numbers of Python
    if isinstance(state, (bool, int, _core.Tensor)) or hasattr(state, "__array_interface__"):
        return asarray(_u64(state)) if type(state) is int and state >= 2**63 else asarray(state)
    raise errors.TypeError.with_hint(f"DataLoader: the state of the dataset has {in_words(state)}, which is not a number",
                                     "state_dict() takes states of any kind, state() numbers")


def position_of(state):
    """The position that as_dict() or as_tree() returned."""
    if not hasattr(state, "keys"):
        raise errors.TypeError(f"DataLoader: the state is {in_words(state)}, expected what state_dict() returns")
    names = {field.name for field in dataclasses.fields(Position)}
    for name in state.keys():
        if name not in names:
            raise errors.KeyError(f"DataLoader: the state has an unknown entry {name!r}; it has {', '.join(sorted(names))}")
    for name in ("seed", "epoch", "place"):
        if name not in state:
            raise errors.KeyError(f"DataLoader: the state has no {name!r}")
    done = [integer("DataLoader", "a place of the state", each) for each in _number(state.get("done", []))]
    order = _number(state.get("order"))
    division = tuple(integer("DataLoader", "the division of the state", each) for each in _number(state.get("division", [])))
    if len(division) not in (0, 3):
        raise errors.ValueError(f"DataLoader: the division of the state has {len(division)} numbers, expected 3")
    return Position(seed_of("DataLoader", _number(state["seed"])), integer("DataLoader", "the epoch of the state", _number(state["epoch"])),
                    integer("DataLoader", "the place of the state", _number(state["place"])),
                    integer("DataLoader", "the size of the state", _number(state.get("size", -1)), -1), done,
                    None if order is None else integer("DataLoader", "the order of the state", order), _numbers(state.get("source")), division or None)


def _number(value):
    """A tensor or an array as a number, or as a list of them."""
    return value.tolist() if hasattr(value, "tolist") else value


def _numbers(state):
    return {name: _numbers(value) for name, value in state.items()} if isinstance(state, dict) else _number(state)
