"""What a worker does: keeps compiled models, and takes blocks of rows through them."""

import hashlib
import os
import tempfile
import threading
import time

import numpy as np

from .. import _sardonyx
from .._errors import Error, make
from .._options import SessionOptions
from .._session import InferenceSession

_lock = threading.Lock()
_sessions = {}
_paces = {}
_compiled = {}
_last_file = threading.local()


def compiled():
    """How often this process has compiled each model, by its SHA-256: once."""
    return dict(_compiled)


def cache_folder():
    """Where models and packed weights lie for all processes of a machine: SARDONYX_CACHE, or the user's cache."""
    folder = os.environ.get("SARDONYX_CACHE")
    if not folder:
        folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sardonyx")
    return folder


def _cached_model(sha256, data):
    """A file with these bytes that all processes of this machine map, or None where there is no room for one."""
    folder = cache_folder()
    path = os.path.join(folder, sha256 + ".onnx")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not os.path.exists(path) or _sardonyx.sha256_of_file(path) != sha256:
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
                file.write(data)
            os.replace(file.name, path)
        return path
    except OSError:
        return None


class Model:
    """A model on its way: its bytes, their SHA-256, and how it is compiled."""

    def __init__(self, sha256, data, ports, outputs, same, batch, options):
        self.sha256, self.data, self.ports, self.outputs = sha256, data, ports, outputs
        self.same, self.batch, self.options = same, batch, options

    def session(self):
        """The session of this process."""
        key = (self.sha256, tuple(sorted(self.options.items())))
        with _lock:
            session = _sessions.get(key)
            if session is None:
                options = SessionOptions()
                for name, value in self.options.items():
                    setattr(options, name, value)
                path = _cached_model(self.sha256, self.data)
                if path is not None:
                    options.pack_cache = os.path.join(cache_folder(), "packs")
                    os.makedirs(options.pack_cache, mode=0o700, exist_ok=True)
                session = _sessions[key] = InferenceSession(path or self.data, options)
                _compiled[self.sha256] = _compiled.get(self.sha256, 0) + 1
            return session

    def run(self, block):
        """The outputs, as arrays, for a block: arrays by the names of the inputs with rows."""
        feed = {name: self._fitting(name, dtype, row, block) for name, dtype, row in self.ports["inputs"]}
        counts = {name: len(array) for name, array in feed.items()}
        rows = next(iter(counts.values()))
        if set(counts.values()) != {rows}:
            raise make("SDX-P0103", f"inputs of different numbers of rows: {counts}", [], "")
        if rows == 0:
            return [np.empty((0, *(max(size, 0) for size in row)), dtype) for _, dtype, row in self.outputs]
        session, given = self.session(), self.ports["most_rows"] or self.batch
        with _lock:
            pace = _paces.setdefault((self.sha256, tuple(sorted(self.options.items()))), _sardonyx.Pace())
        names = [output[0] for output in self.outputs]
        made, first = None, 0
        while first < rows:
            batch = min(given or pace.rows, rows - first)
            part = {name: array[first:first + batch] for name, array in feed.items()}
            begin = time.perf_counter()
            outputs = session.run(names, {**part, **self.same})
            if not given:
                seconds = time.perf_counter() - begin
                with _lock:
                    pace.took(batch, seconds)
            if batch == rows:
                return outputs
            if made is None:
                made = [np.empty((rows, *output.shape[1:]), output.dtype) for output in outputs]
            for whole, output in zip(made, outputs):
                whole[first:first + batch] = output
            first += batch
        return made

    @staticmethod
    def _fitting(name, dtype, row, block):
        try:
            array = block[name]
        except KeyError:
            raise make("SDX-P0100", f'a block has no "{name}"; it has {", ".join(map(str, block))}', [], "") from None
        array = np.asarray(array)
        if array.dtype != dtype:
            raise make("SDX-P0101", f'input "{name}" is {dtype}, a block of it is {array.dtype}', [], "")
        if array.ndim != len(row) + 1 or any(size not in (-1, found) for size, found in zip(row, array.shape[1:])):
            wanted = ", ".join(["rows", *("?" if size < 0 else str(size) for size in row)])
            raise make("SDX-P0102", f'input "{name}" takes ({wanted}), a block of it is {array.shape}', [], "")
        return np.ascontiguousarray(array)


def named(names, arrays):
    return dict(zip(names, arrays))


def of_frame(frame, model):
    """A block from a pandas frame: with one input all columns in order, with several those called NAME, or NAME.0, NAME.1 ..."""
    inputs = model.ports["inputs"]
    block = {}
    for name, dtype, row in inputs:
        columns = [column for column in frame.columns
                   if len(inputs) == 1 or column == name or str(column).startswith(name + ".")]
        if not columns:
            raise make("SDX-P0104", f'no column "{name}"; there are {", ".join(map(str, frame.columns))}', [], "")
        block[name] = shaped(name, frame[columns].to_numpy(), dtype, row, len(frame))
    return block


def of_items(items, model):
    """A block from the items of a bag: a row each, as an array, or as a dictionary of arrays by input."""
    items, inputs = list(items), model.ports["inputs"]
    block = {}
    for name, dtype, row in inputs:
        rows = [item[name] if isinstance(item, dict) else item for item in items]
        block[name] = shaped(name, np.array(rows) if rows else np.empty((0,)), dtype, row, len(items))
    return block


def shaped(name, values, dtype, row, rows):
    """Numbers as `sardonyx score` reads them from text: f64, rounded to the type; and rows of the input's shape."""
    try:
        array = values.astype(dtype, casting="unsafe" if values.dtype.kind in "Of" and dtype.kind in "fO" else "same_kind")
        return array.reshape((rows, *row)) if rows else np.empty((0, *(max(size, 0) for size in row)), dtype)
    except (TypeError, ValueError) as error:
        raise make("SDX-P0105", f'input "{name}": {error}', [], "") from None


def file_stamp(path, ports):
    """Rows, bytes and time of a file; or an Error, as a value."""
    try:
        found = _sardonyx.read_rows(path, ports["inputs"])
        return {key: found[key] for key in ("rows", "bytes", "changed")}
    except Error as error:
        return error


def of_file(path, model, first=0, rows=None, stamp=None):
    """A block from a file as `sardonyx score` reads it. The last file read is kept: its parts come one after the other."""
    found = getattr(_last_file, "found", None)
    state = os.stat(path)
    key = (path, state.st_size, state.st_mtime_ns)
    if found is None or _last_file.key != key:
        _last_file.found = None
        found = _sardonyx.read_rows(path, model.ports["inputs"])
        _last_file.key, _last_file.found = key, found
    if stamp is not None and any(found[name] != stamp[name] for name in stamp):
        raise make("SDX-P0106", f"{path} changed while it was scored", [], "")
    last = found["rows"] if rows is None else first + rows
    return {name: array[first:last] for name, array in found["tensors"].items()}


def carry(model):
    """The model as a task, so that it travels from worker to worker by its key, and is made anew if its holder dies."""
    return model


def guarded(place, work):
    try:
        return work()
    except Error as error:
        raise make(error.code, error.message, [*error.where, place], error.help) from None


def sha256(data):
    return hashlib.sha256(data).hexdigest()
