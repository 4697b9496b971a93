"""The optimizers of plait.optim."""
