"""Checkpoints of training runs."""

import atexit
import collections.abc
import os
import weakref

from plait import _core, errors
from plait.inside.arrays.devices import moved
from plait.inside.arrays.interop import to_numpy
from plait.inside.files.file_arguments import path_of, refuse_others, text_of
from plait.inside.files.safetensors import bytes_of_size, metadata_of
from plait.inside.files.tree_parts import parts_of
from plait.inside.help.names import in_words
from plait.inside.help.unused import expect_used
from plait.inside.optimizers.train_state import TrainState
from plait.inside.transforms.tracing import Program
from plait.inside.trees.patterns import as_patterns, matches
from plait.inside.trees.renaming import renamed
from plait.tree import flatten


class Checkpoints:
    """The checkpoints of a training run, in a folder of safetensors files. `save` begins to write a tree, a whole TrainState for example, and
    returns; the tensors are shared with the run, not copied. A file appears when it is complete and on the disk, so a killed run finds its
    earlier ones.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> model = plait.nn.Linear(2, 1)
    >>> state = plait.optim.TrainState(model, plait.optim.SGD(model, lr=0.1))
    >>> with plait.io.Checkpoints(folder, best="loss") as checkpoints:
    ...     for step, loss in (10, 0.5), (20, 0.25), (30, 0.75):
    ...         checkpoints.save(step, state, metrics={"loss": loss})
    >>> checkpoints.latest(), checkpoints.best(), sorted(checkpoints.load(30))[:3]
    (30, 20, ['key', 'model.bias', 'model.weight'])
    >>> state = checkpoints.restore(state)

    The last `keep_last` are kept (None: all), the `keep_best` best ones by the metric `best` (the least, or with best_is="greatest" the
    greatest), and for ever those of multiples of `keep_every`. `max_shard_size` divides large ones, as in save_safetensors. With `wait`,
    save returns when the file is on the disk; with `read_only`, nothing is written, and another run may write. Only one run writes into a
    folder at a time."""

    def __init__(self, folder, *, keep_last=3, keep_every=None, best=None, best_is="least", keep_best=1, max_shard_size=None, wait=False, read_only=False):
        if best_is not in ("least", "greatest"):
            raise errors.ValueError(f"Checkpoints: best_is is {in_words(best_is)}, expected 'least' or 'greatest'")
        if best is not None and not isinstance(best, str):
            raise errors.TypeError(f"Checkpoints: best is {in_words(best)}, expected the name of a metric")
        path = path_of("Checkpoints", folder)
        kept = [_count(name, value) for name, value in {"keep_last": keep_last, "keep_every": keep_every}.items()]
        self._folder = os.fsdecode(path)
        self._core = _core._CheckpointFolder(path, *kept, best or "", best_is == "greatest", _count("keep_best", keep_best),
                                        bytes_of_size("Checkpoints", max_shard_size), bool(wait), bool(read_only))
        if not _open:
            atexit.register(_close_all)
        _open.add(self)

    def save(self, step, state, *, metrics=None, metadata=None, program=None):
        """Begins to write a tree, and returns. Waits for the save before it, if that is going on, and raises its error, if it failed: IoError, of a
        full disk for example; the earlier checkpoints are whole. Then those that no rule keeps are removed. `metrics` are numbers by name,
        `metadata` strings by name, `program` is that of the step (plait.trace(step)(…)), or its bytes. Arrays of other libraries are
        copied, since they may be written to. A step before the latest one is an error: remove_after(step) before a run goes on from an
        earlier step.

        >>> import tempfile
        >>> with plait.io.Checkpoints(tempfile.mkdtemp()) as checkpoints:
        ...     checkpoints.save(1, {"weight": plait.ones(2)}, metadata={"dataset": "circles"}, program=plait.trace(plait.exp)(plait.ones(2)))
        ...     checkpoints.metadata(), checkpoints.program()(plait.zeros(2))
        ({'dataset': 'circles'}, [[1. 1.] : f32[2]])
        """
        _expect_outside("save")
        content = b"" if program is None else program.bytes() if isinstance(program, Program) else program
        if not isinstance(content, bytes):
            raise errors.TypeError.with_hint(f"Checkpoints.save: program is {in_words(program)}, expected a Program or bytes", "plait.trace(step)(*arguments)")
        self._core.save(_step(step), parts_of("Checkpoints.save", state), _metrics_of(metrics), metadata_of("Checkpoints.save", metadata) or {}, content)

    def restore(self, like, step=None, *, rename=None, skip=(), fill=(), resize=(), **others):
        """A tree like `like` with the tensors of a checkpoint: that of a step, or the latest that is not damaged. ValueError if there is none.

        The saved tree must be alike: paths, shapes, dtypes, classes and static values. Otherwise an error lists the differences, and
        nothing is restored. The mode (`training`), the marks of buffers and of frozen weights are those of `like`. `rename` maps paths of
        the checkpoint to those of `like`, as in nn.load_state. Patterns of paths say what may differ: `skip`, what stays as it is in
        `like`, whatever is saved; `fill`, what stays as it is if it is not saved; `resize`, tensors that may have other sizes. "optimizer.*" is
        the optimizer and all that is in it. The loader of a TrainState has the entries that were saved. A tensor is put on the device of that
        of `like`, wherever it was saved.

        >>> import tempfile
        >>> checkpoints = plait.io.Checkpoints(tempfile.mkdtemp())
        >>> model = plait.nn.Linear(2, 1)
        >>> state = plait.optim.TrainState(model, plait.optim.SGD(model, lr=0.1, momentum=0.9), key=plait.random.key(0))
        >>> checkpoints.save(1, state)
        >>> checkpoints.restore(plait.optim.TrainState(model, plait.optim.Adam(model)))
        Traceback (most recent call last):
        plait.errors.ValueError: ValueError: restore: the tree is not that of the checkpoint, and nothing is restored:
            optimizer is SGD in the checkpoint, Adam in the tree, at ...
          hint: rename={"theirs.*": "ours.*"} maps names; skip names what stays as it is in the tree, fill what the checkpoint may lack
        >>> state = checkpoints.restore(plait.optim.TrainState(model, plait.optim.Adam(model)), skip="optimizer.*")
        >>> model = checkpoints.restore(model, rename={"model.*": "*", "*": None})
        """
        refuse_others("Checkpoints.restore", others, "tensors are put where those of the tree are: checkpoints.restore(plait.to_device(state, 'cuda'))")
        _expect_outside("restore")
        found = self._core.load(None if step is None else _step(step))
        names = renamed("Checkpoints.restore", list(found.tensors()), rename)
        patterns = [list(as_patterns("Checkpoints.restore", each)) for each in (skip, fill, resize)]
        like = _with_saved_place(like, found.tensors(), names, patterns[0])
        tree = parts_of("Checkpoints.restore", like)
        restored, same = found.match(tree, names, *patterns), tree[1]
        leaves, structure = flatten(like)
        made = {path: _like(leaf, restored[path]) if path in restored else leaf for path, leaf in zip(structure.paths, leaves)}
        for path, first in same.items():
            if path in restored and first in restored:
                made[path] = made[first]
        expect_used("restore", "state = checkpoints.restore(state)", "the restored tree")
        return structure.unflatten([made[path] for path in structure.paths])

    def load(self, step=None):
        """The tensors of a checkpoint by path: that of a step, or the latest that is not damaged. KeyError if there is none of this step,
        ParseError if it is damaged."""
        _expect_outside("load")
        return self._core.load(None if step is None else _step(step)).tensors()

    def metrics(self, step=None):
        """The metrics of a checkpoint, that of a step, or the latest."""
        return self._core.describe(self._step_of(step)).metrics()

    def metadata(self, step=None):
        """The metadata of a checkpoint, that of a step, or the latest."""
        return self._core.describe(self._step_of(step)).metadata()

    def program(self, step=None):
        """The program that was saved with a checkpoint, that of a step, or the latest; None if there is none."""
        content = self._core.load(None if step is None else _step(step)).program()
        return Program.from_bytes(content) if content else None

    def steps(self):
        """The steps whose checkpoints are there. Those whose size or header is damaged are left out, with a warning in the log."""
        return self._core.steps()

    def latest(self):
        """The latest step, or None."""
        return self._core.latest()

    def best(self):
        """The best step by the metric that is named when the folder is opened, or None."""
        return self._core.best()

    def remove(self, step):
        """Removes the checkpoint of a step."""
        self._core.remove(_step(step))

    def remove_after(self, step):
        """Removes the checkpoints after a step, from which the run is to go on."""
        self._core.remove_after(_step(step))

    def wait(self):
        """Returns when all is on the disk; raises the error of the last save if it failed."""
        self._core.wait()

    def close(self):
        """Waits, as wait does; then other runs may write into the folder. What is there can still be read."""
        self._core.close()
        _open.discard(self)

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()

    def __repr__(self):
        return f"<Checkpoints {self._folder}>"

    def _step_of(self, step):
        if step is not None:
            return _step(step)
        latest = self.latest()
        if latest is None:
            raise errors.ValueError.with_hint(f"there is no checkpoint in {self._folder}", "latest() says whether there is one")
        return latest


_open = weakref.WeakSet()  # their threads are waited for when the process ends


def _close_all():
    for each in list(_open):
        try:
            each.close()
        except errors.Error:
            import traceback

            traceback.print_exc()


def _expect_outside(method):
    if _core._is_tracing():
        raise errors.ValueError.with_hint(f"Checkpoints.{method}: a function is being recorded here",
                                          "call it outside of jit and other transforms, with what the function returns")


def _with_saved_place(like, tensors, names, skip):
    """A TrainState whose loader has the entries that were saved: some are there only after an epoch has begun, or within it."""
    begins = "loader."
    if not isinstance(like, TrainState) or not _is_place(like.loader) or matches(begins + "place", skip):
        return like
    place = {}
    for saved, name in sorted((saved, name) for saved, name in names.items() if name is not None and name.startswith(begins)):
        *parents, last = name.removeprefix(begins).split(".")
        inner = place
        for each in parents:
            inner = inner.setdefault(each, {})
        inner[last] = tensors[saved]
    return like.with_(loader=place) if _is_place(place) else like


def _is_place(loader):
    """True for DataLoader.state()."""
    return isinstance(loader, dict) and {"seed", "epoch", "place", "size"} <= loader.keys()


def _like(leaf, tensor):
    """An array of NumPy where the leaf is one, else the tensor, on the device of the leaf."""
    if isinstance(leaf, _core.Tensor):
        return tensor if leaf.is_traced else moved(tensor, str(leaf.device))
    return to_numpy(tensor).copy() if hasattr(leaf, "__array_interface__") else tensor


def _step(step):
    number = step.item() if isinstance(step, _core.Tensor) and not step.is_traced else step
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise errors.TypeError(f"Checkpoints: the step is {in_words(step)}, expected an integer")
    number = number.__index__()
    if not 0 <= number < 2**63:
        raise errors.ValueError(f"Checkpoints: the step is {number}, expected 0 or more")
    return number


def _count(name, value):
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**63:
        raise errors.ValueError(f"Checkpoints: {name} is {in_words(value)}, expected a positive integer, or None")
    return value


def _metrics_of(metrics):
    if metrics is None:
        return {}
    if not isinstance(metrics, collections.abc.Mapping):
        raise errors.TypeError(f"Checkpoints.save: the metrics are {in_words(metrics)}, expected a dict of numbers by name")
    return {_metric_name(name): _metric(name, value) for name, value in metrics.items()}


def _metric_name(name):
    if not isinstance(name, str):
        raise errors.TypeError(f"Checkpoints.save: the name of a metric is {in_words(name)}, expected a string")
    return text_of("Checkpoints.save", name)


def _metric(name, value):
    try:
        return float(value)
    except Exception:  # noqa: BLE001: of any class
        raise errors.TypeError(f"Checkpoints.save: the metric {name} is {in_words(value)}, expected a number") from None
