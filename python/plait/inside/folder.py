"""The folder of the package, which the files of its code are below."""

import os

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
