"""Datasets, samplers and loaders, with PyTorch's names and arguments. A batch is a function of the seed, the epoch and its place alone, so a
run that continues, with any number of workers and ranks, gets the batches that the undisturbed run gets."""

from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.data.collation import default_collate, default_convert, pad_sequence  # noqa: F401
from plait.inside.data.datasets import (  # noqa: F401
    ConcatDataset, Dataset, StackDataset, Subset, TensorDataset, idx_dataset, npy_dataset, npz_dataset, random_split)
from plait.inside.data.loader import DataLoader  # noqa: F401
from plait.inside.data.image_datasets import CIFAR10, CIFAR100, ImageFolder  # noqa: F401
from plait.inside.data.row_streams import CsvStream, JsonlStream, TextStream  # noqa: F401
from plait.inside.data.samplers import (  # noqa: F401
    BatchSampler, DistributedSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler)
from plait.inside.data.streams import ChainDataset, IterableDataset, mapped  # noqa: F401
from plait.inside.data.web_datasets import WebDataset, WebStream  # noqa: F401
from plait.data import transforms  # noqa: F401

__getattr__, __dir__, __all__ = _of_public_module(globals())
