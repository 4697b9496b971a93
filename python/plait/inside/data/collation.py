"""Batches from lists of samples."""

import collections.abc
import dataclasses
import operator

from plait import _core, errors
from plait.inside.arrays.devices import placed
from plait.inside.arrays.interop import asarray, of_host
from plait.inside.help.names import in_words
from plait.inside.later import Later
from plait.inside.trees.moving import is_array, like_mapping, with_tensors

np = Later("numpy")


def default_collate(samples):
    """A batch of samples: tensors, arrays and numbers along a new first axis, strings and bytes in a list; tuples, named tuples, lists, dicts
    and dataclasses of batches. Numbers of Python get the dtypes of plait.asarray: f32 and i64. A batch of tensors is where the first of them is.

    >>> plait.data.default_collate([{"x": [1.0, 2.0], "name": "a"}, {"x": [3.0, 4.0], "name": "b"}])
    {'x': [[1. 3.] : f32[2], [2. 4.] : f32[2]], 'name': ['a', 'b']}
    >>> plait.data.default_collate([(np.zeros(2), 1), (np.ones(2), 2)])
    ([[0. 0.]
     [1. 1.]] : f64[2, 2], [1 2] : i64[2])
    """
    if not isinstance(samples, (list, tuple)) or not samples:
        raise errors.ValueError(f"default_collate: the samples are {in_words(samples)}, expected a list of one or more")
    return _collated(list(samples), "")


def _collated(samples, path):
    first = samples[0]
    if isinstance(first, (str, bytes)):
        return samples
    if isinstance(first, np.number) and set(map(type, samples)) == {type(first)}:
        return placed(of_host(np.array(samples)), None)
    if isinstance(first, (bool, int, float, complex)) and not hasattr(first, "dtype"):
        return _numbers(samples, path)
    if type(first) is dict and (columns := _columns_of_dicts(samples)):
        return {key: _collated(column, f"{path}[{key!r}]") for key, column in columns.items()}
    if isinstance(first, collections.abc.Mapping):
        return like_mapping(first, {key: _part(samples, lambda each: each[key], f"{path}[{key!r}]") for key in _keys(samples, path)})  # noqa: B023
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*_columns(samples, path))
    if isinstance(first, (list, tuple)):
        return (list if isinstance(first, list) else tuple)(_columns(samples, path))
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in dataclasses.fields(first)]
        return dataclasses.replace(first, **{name: _part(samples, lambda each: getattr(each, name), f"{path}.{name}") for name in names})  # noqa: B023
    if type(first) is np.ndarray and all(type(each) is np.ndarray and each.dtype == first.dtype and each.shape == first.shape for each in samples):
        return asarray(np.stack(samples))
    if is_array(first):
        made = _core._data.stack([each if isinstance(each, _core.Tensor) else of_host(each) for each in samples])
        return made if isinstance(first, _core.Tensor) or made.is_cuda else placed(made, None)
    where = f"{path.removeprefix('.')} of the samples" if path else "a sample"
    raise errors.TypeError.with_hint(f"default_collate: {where} is {in_words(first)}, expected tensors, arrays, numbers, strings, or lists and dicts of "
                                     "these", "collate_fn=function, of a list of samples")


def _columns_of_dicts(samples):
    """The values by key, soon; None if the dicts differ, or are empty or of other classes."""
    if set(map(type, samples)) != {dict} or set(map(len, samples)) != {len(samples[0])}:
        return None
    try:
        return {key: list(map(operator.itemgetter(key), samples)) for key in samples[0]} or None
    except KeyError:
        return None


def _part(samples, of, path):
    try:
        parts = [of(each) for each in samples]
    except (KeyError, AttributeError, TypeError, LookupError) as error:
        raise errors.ValueError(f"default_collate: the samples differ: {path.removeprefix('.')} is missing in one") from error
    return _collated(parts, path)


def _keys(samples, path):
    for each in samples:
        if not isinstance(each, collections.abc.Mapping) or each.keys() != samples[0].keys():
            found = sorted(map(str, each)) if isinstance(each, collections.abc.Mapping) else in_words(each)
            raise errors.ValueError(f"default_collate: the samples differ{_at(path)}: {found}, expected {sorted(map(str, samples[0]))}")
    return samples[0]


def _columns(samples, path):
    size = len(samples[0])
    for each in samples:
        if not isinstance(each, (list, tuple)) or len(each) != size:
            found = f"{len(each)} elements" if isinstance(each, (list, tuple)) else in_words(each)
            raise errors.ValueError(f"default_collate: the samples differ{_at(path)}: one has {found}, the first {size} elements")
    return [_collated([each[i] for each in samples], f"{path}[{i}]") for i in range(size)]


def _numbers(samples, path):
    try:
        return placed(of_host(samples), None) if set(map(type, samples)) <= {int, float} else asarray(samples)
    except (TypeError, ValueError, errors.Error) as error:
        raise errors.TypeError(f"default_collate: the samples differ{_at(path)}: the first is a number, but not all are") from error


def _at(path):
    return f" at {path.removeprefix('.')}" if path else ""


def default_convert(sample):
    """The sample with its arrays as tensors: what a loader with batch_size=None does.

    >>> plait.data.default_convert({"x": np.arange(2), "name": "a"})
    {'x': [0 1] : i64[2], 'name': 'a'}
    """
    return with_tensors(sample)


def without_rows(batch):
    """A batch of default_collate with 0 samples."""
    if isinstance(batch, collections.abc.Mapping):
        return like_mapping(batch, {key: without_rows(value) for key, value in batch.items()})
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(without_rows, batch))
    if isinstance(batch, (list, tuple)):
        if any(isinstance(each, (str, bytes)) for each in batch):
            return []
        return (list if isinstance(batch, list) else tuple)(map(without_rows, batch))
    if dataclasses.is_dataclass(batch):
        return dataclasses.replace(batch, **{field.name: without_rows(getattr(batch, field.name)) for field in dataclasses.fields(batch)})
    return batch[:0]


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences of different lengths, which are their first sizes, in one tensor: [time, batch, …], or [batch, time, …].

    >>> plait.data.pad_sequence([plait.tensor([1.0, 2.0, 3.0]), plait.tensor([4.0])], batch_first=True)
    [[1. 2. 3.]
     [4. 0. 0.]] : f32[2, 3]
    """
    if padding_side not in ("right", "left"):
        raise errors.ValueError(f"pad_sequence: padding_side is {padding_side!r}, expected 'right' or 'left'")
    if isinstance(padding_value, (str, bytes)) or not hasattr(padding_value, "__float__"):
        raise errors.TypeError(f"pad_sequence: padding_value is {in_words(padding_value)}, expected a number")
    try:
        tensors = [asarray(each) for each in sequences]
    except TypeError as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.TypeError(f"pad_sequence: {in_words(sequences)} is not a list of tensors") from None
    return _core._data.pad_sequence(tensors, bool(batch_first), float(padding_value), padding_side == "left")
