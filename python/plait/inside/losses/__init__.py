"""The losses of plait.nn."""
