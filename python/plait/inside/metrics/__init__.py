"""The metrics of plait.metrics."""
