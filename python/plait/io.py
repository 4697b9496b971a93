"""Files: NumPy's arrays and archives, MNIST's, safetensors and GGUF; images; checkpoints and logs of training runs; readers of CSV, JSONL and text. Paths
are strings or os.PathLike; files are read and written while other threads of Python run."""

from plait.inside.files.checkpoints import Checkpoints  # noqa: F401
from plait.inside.files.gguf import GGUFFile, load_gguf, open_gguf  # noqa: F401
from plait.inside.files.image_files import decode_image, encode_jpeg, encode_png, encode_webp, image_size, read_image, write_image  # noqa: F401
from plait.inside.files.numpy_files import load_idx, load_npy, load_npz, save_npy, save_npz  # noqa: F401
from plait.inside.files.safetensors import SafetensorsFile, load_safetensors, open_safetensors, save_safetensors  # noqa: F401
from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.logs.event_log import EventLog  # noqa: F401
from plait.inside.logs.row_logs import CsvLog, JsonlLog, Logs  # noqa: F401
from plait.inside.rows.readers import CsvFile, JsonlFile, TextLines, read_csv, read_jsonl  # noqa: F401

__getattr__, __dir__, __all__ = _of_public_module(globals())
