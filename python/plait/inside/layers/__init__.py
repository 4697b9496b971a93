"""The layers of plait.nn, by subject."""
