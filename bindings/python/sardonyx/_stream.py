"""Streams: a model over an endless axis, fed as its rows come."""

import os

from . import _sardonyx


def _loaded(model):
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _sardonyx.Model.parse(bytes(model), "")
    if hasattr(model, "SerializeToString"):
        return _sardonyx.Model.parse(model.SerializeToString(), "")
    return _sardonyx.Model.load(os.fspath(model))


class Stream:
    """A model (a path, its bytes or an onnx.ModelProto) along the open size `axis` of its inputs, or "INPUT:AXIS".

    `push` takes any number of rows and gives those that are certain, `finish` gives the rest: one array per output, in
    their order, with 0 rows while nothing is certain, or None for what only the end tells. Joined, they are the bits of
    the whole run. A model that cannot be streamed raises an Error that names the node and the reason.

    Options: threads, isa, optimize, strict, and set={"N": 2} for other open sizes.
    """

    def __init__(self, model, axis, **options):
        self._stream = _sardonyx.Stream(_loaded(model), axis, options)

    def push(self, feed, time_limit=None):
        """Rows by input name; inputs without the axis are given with the first push. `time_limit`: seconds after which the
        push is ended; the stream is then as it was."""
        return self._stream.push(feed, time_limit)

    def finish(self, time_limit=None):
        """The rows that were still open, and what only the end tells."""
        return self._stream.finish(time_limit)

    def reset(self):
        """As new."""
        self._stream.reset()

    def fork(self):
        """A stream that goes on from here by itself."""
        made = object.__new__(Stream)
        made._stream = self._stream.fork()
        return made

    def save(self):
        """The state as bytes, for a stream of the same model, anywhere and at any time."""
        return self._stream.save()

    def restore(self, saved):
        """Takes up the state that save() gave."""
        self._stream.restore(saved)

    @staticmethod
    def push_all(streams, feeds, time_limit=None):
        """One push for each of several streams, side by side: each gets the bits it would get alone."""
        return _sardonyx.Stream.push_all([stream._stream for stream in streams], list(feeds), time_limit)

    @property
    def rows(self):
        """How many came in so far."""
        return self._stream.rows

    @property
    def state_bytes(self):
        """Kept at the moment."""
        return self._stream.state_bytes

    @property
    def inputs(self):
        """The names of the inputs."""
        return self._stream.inputs

    @property
    def outputs(self):
        """The names of the outputs."""
        return self._stream.outputs
