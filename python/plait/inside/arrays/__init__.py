"""Tensors and Python: methods, numbers and sizes, NumPy, the Array API standard."""
