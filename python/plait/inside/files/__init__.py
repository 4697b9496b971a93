"""The readers and writers of plait.io."""
