"""Small models for examples, from the folder that the variable SARDONYX_DATASETS names."""

import os

from ._errors import make


def get_example(name):
    """The path of an example model."""
    path = os.path.join(os.environ.get("SARDONYX_DATASETS", ""), name)
    if not os.path.isabs(path) or not os.path.isfile(path):
        raise make("SDX-B0001", f'no example model "{name}"', [], "set SARDONYX_DATASETS to the folder that holds it")
    return path
