"""Trees of tensors: models, their buffers, and checks of arguments."""
