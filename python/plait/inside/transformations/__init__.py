"""The gradient transformations of plait.optim."""
