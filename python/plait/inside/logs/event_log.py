"""Logs for TensorBoard, with the names of PyTorch's SummaryWriter."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import of_object
from plait.inside.logs.images import grid, last_channels
from plait.inside.logs.log import Log, encoded, number, plain, resumed_step, step_from
from plait.inside.transforms.tracing import Program, trace


def _array(values):
    """An array of any library, with its numbers as they are."""
    if hasattr(values, "detach"):  # PyTorch's
        values = values.detach().cpu()
    return asarray(values)


def _wall_time(walltime):
    return None if walltime is None else float(walltime)


class EventLog(Log):
    """A log that TensorBoard shows, in a folder. With `resume`, which is the step that is logged next, records of this step and later ones are
    removed from the files first, so that each step stands once, in TensorBoard and in any other reader; without, the folder must not have events yet.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with plait.io.EventLog(folder + "/run") as log:
    ...     for step in range(10):
    ...         log.add_scalar("loss", 0.5 / (step + 1), step)
    ...     log.add_histogram("weights", plait.ones(100), 9)
    >>> log = plait.io.EventLog(folder + "/run", resume=5)  # the steps from 5 on are gone
    >>> log.log(5, {"loss": 0.08, "rate": 0.1})
    >>> log.close()
    """

    def __init__(self, log_dir, *, resume=None):
        super().__init__(_core._EventLog(encoded(log_dir), resumed_step(resume)))
        self.log_dir = log_dir

    def __getattr__(self, name):
        raise of_object(self, name)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None):
        """Writes a number: f32, as TensorBoard has no others."""
        self._core.scalar(tag, number(tag, scalar_value), step_from(global_step), _wall_time(walltime))

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Writes numbers that are shown in one chart: each in a part of the log, a run of its own whose name begins with the tag."""
        for name, value in tag_scalar_dict.items():
            part = self._core.part(f"{main_tag}_{name}".replace("/", "_"))
            part.scalar(main_tag, number(name, value), step_from(global_step), _wall_time(walltime))

    def add_histogram(self, tag, values, global_step=None, walltime=None):
        """Writes the distribution of the elements of an array, in TensorBoard's buckets. NaNs are in no bucket, and make the sum NaN."""
        self._core.histogram(tag, _array(values), step_from(global_step), _wall_time(walltime))

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Writes an image: bytes, or floats from 0 to 1, with one to four channels."""
        pixels = last_channels(_array(img_tensor).numpy(), dataformats, "add_image")
        self._core.image(tag, asarray(pixels), step_from(global_step), _wall_time(walltime))

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Writes several images as one: a grid, eight in a row."""
        pixels = grid(last_channels(_array(img_tensor).numpy(), dataformats, "add_images"))
        self._core.image(tag, asarray(pixels), step_from(global_step), _wall_time(walltime))

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Writes a text, which is shown as Markdown."""
        self._core.text(tag, text_string, step_from(global_step), _wall_time(walltime))

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Writes hyperparameters, and the metrics that they are compared by: names with numbers, which are scalars of this log, or only names.
        With `run_name` they are of a part of the log. The status of the run is success when it is closed, and failure if a `with` block ends
        with an error."""
        if hparam_domain_discrete is not None:
            raise errors.ValueError("add_hparams: hparam_domain_discrete is not supported: TensorBoard finds the values in the runs")
        part = self._core if run_name is None else self._core.part(run_name)
        part.hparams({name: plain(name, value) for name, value in hparam_dict.items()}, list(metric_dict))
        if hasattr(metric_dict, "items"):
            for name, value in metric_dict.items():
                part.scalar(name, number(name, value), step_from(global_step), None)

    def add_graph(self, model, input_to_model=None):
        """Writes the graph of a program, or of the program that tracing a function or a model with these arguments gives."""
        if not isinstance(model, Program):
            if input_to_model is None:
                raise errors.TypeError.with_hint("add_graph: expected a program, or a model and its arguments", "add_graph(plait.trace(model)(x))")
            arguments = input_to_model if isinstance(input_to_model, (tuple, list)) else (input_to_model,)
            model = trace(lambda called, *given: called(*given))(model, *arguments)
        self._core.graph(model.bytes())

    def close(self):
        """Flushes, and ends the log and its parts."""
        self._core.close()

    def __exit__(self, kind, error, traceback):
        self._core.close_as(kind is None)
