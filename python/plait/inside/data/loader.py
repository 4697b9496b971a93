"""DataLoader: batches of a dataset, made ahead by threads or processes."""

import copy
import inspect
import math
import weakref

from plait import errors
from plait.inside.arrays.devices import Device
from plait.inside.data.crew import Crew
from plait.inside.data.datasets import length_of
from plait.inside.data.fetching import Fetcher
from plait.inside.data.iteration import Iteration
from plait.inside.data.position import Position, position_of
from plait.inside.data.runs import BatchesOfOrder, ListedBatches, MapRun, StreamRun, stream_job
from plait.inside.data.samplers import BatchSampler, RandomSampler, SequentialSampler, checksum_of, integer, is_computed, order_of, seed_of
from plait.inside.data.streams import is_stream, set_epoch
from plait.inside.data.worker_processes import WorkerProcess, context_of
from plait.inside.help.names import in_words

_MOST_WORKERS = 1024


class DataLoader:
    """Batches of a dataset. A batch is a function of the seed, the epoch and its place alone: it is the same for any number of workers. With
    PyTorch's arguments, and

    - seed: of the order with shuffle=True, of the random keys of samples (Dataset.get, mapped), and of what code draws without a key for them;
      0 by default. A generator, such as torch.Generator, is a seed: the one that it began with;
    - rank, world_size: each of several processes gets a part of each epoch, and the same number of batches. No sample is repeated or lost:
      the last batches are smaller, and may have 0 rows. With batch_size=None, the ranks for which no sample is left end one sample earlier;
    - pad_last: yields (batch, mask). All batches have batch_size rows; where the mask is false they are copies of another sample;
    - worker: "thread" or "process". Threads suit NumPy and Plait, which let other threads run while they compute; processes run Python code
      in parallel, and the dataset is pickled;
    - in_order=False lets a batch be overtaken by later ones. Within an epoch the state is then of this rank alone. Batches of iterable datasets
      stay in order;
    - device: the tensors of batches are moved there, through pinned memory (with or without pin_memory), while the device computes.

    Each iteration is the next epoch. `state_dict()` has the place after the last batch in a few numbers, and an iteration after
    `load_state_dict(state)` goes on there, with any number of workers and of ranks.

    >>> loader = plait.data.DataLoader(range(10), batch_size=4, shuffle=True, seed=1, num_workers=2)
    >>> batches = list(loader)
    >>> len(loader), [len(batch) for batch in batches], loader.state_dict()["epoch"]
    (3, [4, 4, 2], 1)
    >>> for batch in loader:
    ...     state = loader.state_dict()
    ...     break
    >>> state
    {'seed': 1, 'epoch': 1, 'place': 4, 'size': 10}
    >>> loader.load_state_dict(state)
    >>> len(list(loader))
    2
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, pin_memory=False,
                 drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *, prefetch_factor=None,
                 persistent_workers=False, in_order=True, seed=None, rank=0, world_size=1, worker="thread", pad_last=False, device=None):
        self.dataset, self.num_workers = dataset, integer("DataLoader", "num_workers", num_workers)
        self.drop_last, self.in_order, self.persistent_workers = bool(drop_last), bool(in_order), bool(persistent_workers)
        self.pad_last, self.worker, self.collate_fn, self.worker_init_fn = bool(pad_last), worker, collate_fn, worker_init_fn
        self.world_size, self.rank = integer("DataLoader", "world_size", world_size, 1), integer("DataLoader", "the rank", rank)
        self.timeout, self.prefetch_factor = timeout, 2 if prefetch_factor is None else integer("DataLoader", "prefetch_factor", prefetch_factor, 1)
        self.pin_memory, self.device = bool(pin_memory), None if device is None else Device(device)
        self._expect_options(shuffle, prefetch_factor)
        if multiprocessing_context is not None and worker == "thread":
            raise errors.ValueError.with_hint("DataLoader: multiprocessing_context is for processes, but the workers are threads", 'worker="process"')
        self._context = context_of(multiprocessing_context) if worker == "process" else None
        self._is_stream = is_stream(dataset)
        self.batch_size, self.sampler, self.batch_sampler = self._order_of(batch_size, bool(shuffle), sampler, batch_sampler)
        self._position, self._goes_on = Position(seed_of("DataLoader", seed, generator) or 0), True
        self._fetcher = Fetcher(dataset, collate_fn, self.batch_size is not None or self.batch_sampler is not None)
        self._iteration, self._crew = None, None

    def _expect_options(self, shuffle, prefetch_factor):
        if self.num_workers > _MOST_WORKERS:
            raise errors.ValueError(f"DataLoader: num_workers is {self.num_workers}, expected 0 to {_MOST_WORKERS}")
        if self.rank >= self.world_size:
            raise errors.ValueError(f"DataLoader: the rank is {self.rank}, expected 0 to {self.world_size - 1}")
        if self.worker not in ("thread", "process"):
            raise errors.ValueError(f"DataLoader: worker is {self.worker!r}, expected 'thread' or 'process'")
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, (int, float)):
            raise errors.TypeError(f"DataLoader: timeout is {in_words(self.timeout)}, expected seconds")
        if not 0 <= self.timeout < math.inf:
            raise errors.ValueError(f"DataLoader: timeout is {self.timeout}, expected 0 or more")
        if shuffle not in (None, False, True):
            raise errors.TypeError(f"DataLoader: shuffle is {in_words(shuffle)}, expected True or False")
        for name, value in (("collate_fn", self.collate_fn), ("worker_init_fn", self.worker_init_fn)):
            if value is not None and not callable(value):
                raise errors.TypeError(f"DataLoader: {name} is {in_words(value)}, expected a function")
        if self.num_workers == 0 and (prefetch_factor is not None or self.persistent_workers):
            name = "persistent_workers" if prefetch_factor is None else "prefetch_factor"
            raise errors.ValueError.with_hint(f"DataLoader: {name} needs workers", "num_workers=2")

    def _order_of(self, batch_size, shuffle, sampler, batch_sampler):
        """(batch size, sampler, batch sampler)."""
        if self._is_stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise errors.ValueError("DataLoader: an iterable dataset has its own order: leave out shuffle and samplers")
        for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None and not hasattr(value, "__iter__"):
                raise errors.TypeError(f"DataLoader: {name} is {in_words(value)}, expected indices")
        if sampler is not None and shuffle:
            raise errors.ValueError("DataLoader: a sampler has an order: leave out shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or self.drop_last:
                raise errors.ValueError("DataLoader: a batch sampler has its own batches: leave out batch_size, shuffle, sampler and drop_last")
            if type(batch_sampler) is not BatchSampler:
                if self.pad_last:
                    raise errors.ValueError("DataLoader: pad_last needs a batch_size, which a batch sampler does not have")
                return None, None, batch_sampler
            batch_size, sampler, self.drop_last = batch_sampler.batch_size, batch_sampler.sampler, batch_sampler.drop_last
        if batch_size is None and (self.drop_last or self.pad_last):
            raise errors.ValueError("DataLoader: drop_last and pad_last need a batch_size")
        if batch_size is not None:
            batch_size = integer("DataLoader", "batch_size", batch_size, 1)
        if sampler is None and not self._is_stream:
            length_of("DataLoader", self.dataset)
            sampler = RandomSampler(self.dataset) if shuffle else SequentialSampler(self.dataset)
        return batch_size, sampler, None

    def __len__(self):
        if self.batch_sampler is not None:
            return -(-len(self.batch_sampler) // self.world_size)
        size = length_of("DataLoader", self.dataset if self._is_stream else self.sampler)
        if self.batch_size is None:
            return (size + self.world_size - 1 - self.rank) // self.world_size
        step = self.batch_size * self.world_size
        return size // step if self.drop_last else -(-size // step)

    def __repr__(self):
        order = self.batch_sampler if self.batch_sampler is not None else self.sampler
        parts = [type(self.dataset).__name__, f"batch_size={self.batch_size}", *([] if order is None else [type(order).__name__]),
                 f"num_workers={self.num_workers}"]
        return f"DataLoader({', '.join(parts)}: epoch {self._position.epoch}, place {self._position.place})"

    def __iter__(self):
        if inspect.isgenerator(self.dataset) and inspect.getgeneratorstate(self.dataset) == inspect.GEN_CLOSED:
            raise errors.ValueError.with_hint("DataLoader: the dataset is a generator that has ended, and has no other epoch",
                                              "a class whose __iter__ is the generator")
        position = self._following()
        run, position = self._run_at(position)
        if self._iteration is not None and (iteration := self._iteration()) is not None and self._crew is not None:
            iteration.lose_workers()  # the crew works for one iteration at a time
        crew = self._begun_crew()
        iteration = Iteration(self, run, position, crew, self.prefetch_factor * max(1, self.num_workers))
        self._position, self._goes_on, self._iteration = position, False, weakref.ref(iteration)
        return iteration

    # ---- The place.

    @property
    def epoch(self):
        """The number of the current epoch, or after its last batch of the next."""
        return self._position.epoch

    def state_dict(self):
        """The place after the last batch that was returned, as numbers: within a loop over batches, after the current one.

        >>> plait.data.DataLoader(range(4), seed=5).state_dict()
        {'seed': 5, 'epoch': 0, 'place': 0, 'size': -1}
        """
        return copy.deepcopy(self._position.as_dict())

    def state(self):
        """The same as a tree of tensors, for plait.optim.TrainState(…, loader=loader.state()).

        >>> plait.data.DataLoader(range(4), seed=5).state()["seed"]
        5 : u64[]
        """
        return self._position.as_tree()

    def load_state_dict(self, state):
        """Lets the next iteration go on at a place: what state_dict() or state() returned, here or in a loader of another rank or number of
        workers. A state {"seed": 0, "epoch": 3, "place": 0} is the beginning of an epoch."""
        position = position_of(state)
        if position.source is not None and not self._is_stream:
            raise errors.ValueError("DataLoader: the state is that of an iterable dataset")
        self._expect_division(position.division)
        if is_computed(self.sampler):
            self._run_at(position)  # which refuses places that are not there; other samplers are asked when the iteration begins
        self._position, self._goes_on, self._iteration = position, True, None

    @property
    def _own_division(self):
        return self.batch_size or 0, self.world_size, self.rank

    def _division(self, position, done):
        """The division of the state after a batch: None with an order, when all ranks have one state."""
        lacks_order = not self._is_stream and (not self.in_order or position.division is not None)
        return self._own_division if lacks_order and (done or self.world_size > 1) else None

    def _expect_division(self, division):
        if division not in (None, self._own_division):
            (size, count, rank), own = division, self._own_division
            raise errors.ValueError.with_hint(f"DataLoader: the state is of rank {rank} of {count}, batch size {size}, whose batches were in no order "
                                              f"(in_order=False); this is rank {own[2]} of {own[1]}, batch size {own[0]}",
                                              "with in_order=True all ranks have one state, for any number of ranks; without it, save at the end of an epoch, "
                                              "or load on each rank its own state")

    def _following(self):
        """The position where the next iteration begins."""
        chosen = next((each for each in (self.sampler, self.batch_sampler) if getattr(each, "_chosen", False)), None)
        if chosen is not None and (not self._goes_on or self._position.place == 0):
            return Position(self._position.seed, chosen.epoch)
        has_begun = self._position.place > 0 or self._position.done or self._is_iterating()
        if self._goes_on or not has_begun:
            return self._position
        return self._position.following()

    def _is_iterating(self):
        """True while an iteration has batches left, as in zip(loader, loader)."""
        iteration = None if self._iteration is None else self._iteration()
        return iteration is not None and not iteration.has_ended

    def _run_at(self, position):
        """The run of the rest of an epoch, and the position with what the epoch adds to it."""
        if self._is_stream:
            job = stream_job(position, self.batch_size, self.world_size, self.rank, self.drop_last, self.pad_last)
            return StreamRun(self._fetcher, job), position
        if self.batch_sampler is not None:
            set_epoch(self.batch_sampler, position.epoch)
            listed = [list(batch) for batch in self.batch_sampler]
            checksum = checksum_of([index for batch in listed for index in batch])
            position = self._checked(position, sum(map(len, listed)), checksum)
            batches = ListedBatches(listed, position, self.world_size, self.rank)
        else:
            order = order_of(self.sampler, position.seed, position.epoch)
            position = self._checked(position, order.size, order.checksum)
            batches = BatchesOfOrder(order, position, self.batch_size or 1, self.drop_last, self.world_size, self.rank)
        for each in (self.sampler, self.batch_sampler):
            if getattr(each, "_chosen", False):
                each._chosen = False
        return MapRun(self._fetcher, batches, position, self.batch_size if self.pad_last else None, self.num_workers), position

    def _checked(self, position, size, checksum):
        if position.place > 0 and position.size not in (-1, size):
            raise errors.ValueError.with_hint(f"DataLoader: the state is of an epoch of {position.size} samples, at place {position.place}, but this one "
                                              f"has {size}", 'begin an epoch: {"seed": 0, "epoch": 1, "place": 0}')
        if position.place > 0 and position.order is not None and position.order != checksum:
            raise errors.ValueError.with_hint("DataLoader: the sampler has another order than when the state was saved",
                                              "a sampler with set_epoch(epoch), whose order depends on the epoch only")
        return Position(position.seed, position.epoch, position.place, size, position.done, checksum, None, position.division)

    def _moved(self, iteration, position):
        """Called by an iteration after each batch; one that is not the last to begin has no say."""
        if self._iteration is not None and self._iteration() is iteration:
            self._position = position

    # ---- Workers.

    def _begun_crew(self):
        if self.num_workers == 0:
            return None
        if self._crew is not None:
            return self._crew
        count, processes, init = self.num_workers, None, self.worker_init_fn
        if self.worker == "process":
            count = 1 if self._is_stream else count  # a stream is read in one place
            processes, init = WorkerProcess.begin_all(self._context, count, self._fetcher, init), None
        crew = Crew(count, init, processes)
        if self.persistent_workers:
            self._crew = crew
        return crew

    def _release(self, crew):
        if crew is not self._crew:
            crew.close()

    def close(self):
        """Ends the workers, which otherwise end with an iteration, or those of persistent_workers with the loader."""
        iteration = self._iteration() if self._iteration is not None else None
        if iteration is not None:
            iteration.close()
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()

    def __getstate__(self):
        return {**vars(self), "_iteration": None, "_crew": None}
