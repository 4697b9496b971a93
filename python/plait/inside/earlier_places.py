"""Pickles name modules. These are the modules that pickles of earlier versions name, with what they have now."""

import sys
import types

from plait.inside.arrays import array_api, devices, dtype_info, interop, primitives
from plait.inside.jit import jit_stats, jitting
from plait.inside.settings import anomaly, autocast, denormals
from plait.inside.transforms import applied, batching, custom_rules, derivatives, remat, tracing
from plait.inside.trees import buffers, module

_NOW = {"anomaly": [anomaly], "applied": [applied], "array_api": [array_api], "batching": [batching], "buffers": [buffers],
        "custom_rules": [custom_rules], "denormals": [denormals], "devices": [devices], "dtype_info": [dtype_info], "interop": [interop],
        "jit_stats": [jit_stats], "jitting": [jitting], "module": [module], "primitives": [primitives], "tracing": [tracing],
        "transforms": [derivatives, remat, autocast]}

for _name, _modules in _NOW.items():
    _earlier = sys.modules[f"plait.{_name}"] = types.ModuleType(f"plait.{_name}")
    for _each in _modules:
        vars(_earlier).update({name: value for name, value in vars(_each).items() if not name.startswith("__")})
