"""NumPy's files, and those of MNIST."""

from plait import _core, errors
from plait.inside.files.file_arguments import chosen_names, loaded, path_of, tensor_of, tensors_of


def load_npy(path, *, device=None):
    """The tensor of a .npy file. A large one is not copied: its pages are read when they are first used.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.arange(3))
    ...     plait.io.load_npy(f"{folder}/x.npy")
    [0 1 2] : i64[3]
    """
    return loaded(_core._load_npy(path_of("load_npy", path)), device)


def save_npy(path, x):
    """Writes a tensor to a .npy file, as numpy.save does. The file is replaced atomically.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plait.io.save_npy(f"{folder}/x.npy", plait.ones((2, 2)))
    ...     np.load(f"{folder}/x.npy").shape
    (2, 2)
    """
    _core._save_npy(path_of("save_npy", path), tensor_of("save_npy", x))


def load_npz(path, *, only=(), skip=(), device=None):
    """The tensors of a .npz file, {name: tensor}. `only` and `skip` are names to load, or to leave out, or patterns of them: members of
    strings are an error unless they are left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/both.npz", x=np.ones(2), y=np.arange(3))
    ...     plait.io.load_npz(f"{folder}/both.npz")
    {'x': [1. 1.] : f64[2], 'y': [0 1 2] : i64[3]}
    """
    file = path_of("load_npz", path)
    if not only and not skip:
        return loaded(_whole(file), device)
    return loaded(_core._load_npz_named(file, chosen_names("load_npz", _core._npz_names(file), only, skip)), device)


def _whole(file):
    try:
        return _core._load_npz(file)
    except errors.TypeError as error:  # strings, or another dtype that the library lacks
        raise errors.TypeError.with_hint(error.message, "load_npz(path, skip=name) leaves a member out, only=names loads some") from None


def save_npz(path, tensors, *, compressed=False):
    """Writes a dict of tensors by name, such as the state of a model, to a .npz file. The file is replaced atomically.

    >>> import tempfile
    >>> model = plait.nn.Linear(2, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plait.io.save_npz(f"{folder}/model.npz", plait.nn.state(model), compressed=True)
    ...     sorted(np.load(f"{folder}/model.npz"))
    ['bias', 'weight']
    """
    _core._save_npz(path_of("save_npz", path), tensors_of("save_npz", tensors), bool(compressed))


def load_idx(path, *, device=None):
    """The tensor of an IDX file, the format of MNIST and Fashion-MNIST, compressed with gzip or not.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/labels", "wb") as file:
    ...         _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    ...     plait.io.load_idx(f"{folder}/labels")
    [7 2 1] : u8[3]
    """
    return loaded(_core._load_idx(path_of("load_idx", path)), device)
