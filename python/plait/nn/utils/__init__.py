"""Operations on models, with the names of torch.nn.utils: functions that return another model."""

from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.models.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval  # noqa: F401
from plait.inside.models.vectors import parameters_to_vector, vector_to_parameters  # noqa: F401
from plait.nn.utils import prune  # noqa: F401

__getattr__, __dir__, __all__ = _of_public_module(globals())
