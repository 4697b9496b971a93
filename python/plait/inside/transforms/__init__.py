"""Functions of functions: derivatives, batches, control flow, programs."""
