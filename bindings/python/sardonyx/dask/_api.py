"""score(): blocks of rows as a graph of Dask's tasks."""

import asyncio
import hashlib
import itertools
import math
import os
import sys
import time
import uuid
import warnings
from collections.abc import Mapping
from operator import getitem

import numpy as np

from .. import _sardonyx
from .._errors import make
from .._options import SessionOptions
from . import _job, _worker
from ._worker import compiled

_ANSWERS_WITHIN = 5  # seconds that all workers have to say what they are

__all__ = ["Job", "ScoreFailed", "Scored", "compiled", "score"]


class ScoreFailed(Exception):
    """Some parts could not be scored. `failed` has (part, reason) of each; the others are finished."""

    def __init__(self, failed):
        self.failed = failed
        shown = "\n".join(f"  {part}: {reason}" for part, reason in failed[:20])
        super().__init__(f"{len(failed)} parts failed; a rerun scores them:\n{shown}")


class Job:
    """A finished job in a folder. `lines` are its digest, "NAME TYPE SHAPE SHA-256" for each output."""

    def __init__(self, folder, lines, parts, skipped):
        self.folder, self.lines, self.parts, self.skipped = folder, lines, parts, skipped

    def digest(self):
        return list(self.lines)

    def __repr__(self):
        return f"Job({self.folder!r}, {self.parts} parts)"


class Scored(Mapping):
    """The outputs by name, as dask arrays. Nothing has run yet."""

    def __init__(self, arrays, types, blocks):
        self._arrays, self._types, self._blocks = arrays, types, blocks

    def __getitem__(self, name):
        return self._arrays[name]

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    def digest(self):
        """Computes all blocks, in order, a few at a time, and gives the lines that `sardonyx run --digest` would print."""
        hashes = {name: hashlib.sha256() for name in self._arrays}
        shapes = {}
        for block in _in_order(self._blocks):
            for name, array in zip(self._arrays, block):
                hashes[name].update(np.ascontiguousarray(array).tobytes())
                if len(array) or name not in shapes:
                    shapes[name] = [shapes.get(name, [0])[0] + len(array), *array.shape[1:]]
        return [f"{name} {self._types[name]} {str(shapes.get(name, [0])).replace(' ', '')} {hashes[name].hexdigest()}"
                for name in self._arrays]


def score(data, model, outputs=None, batch=None, out=None, same=None, part_rows=65536, options=None, client=None, progress=None):
    """Takes rows through a model.

    Args:
        data: rows, as a dask array (or a dictionary of them by input), dataframe or bag; or files: a path or a list of
            paths of .npy, .npz, .csv files (.parquet where pyarrow is installed) or folders of them, that every worker sees
        model: the path of an .onnx file, or its bytes. It travels to each worker once
        outputs: which outputs; None: all
        batch: rows of one run; changes no bit. None: what turns out fastest of 4, 16 and 64 in each worker
        out: a folder that every worker sees: parts are written there, and a rerun goes on where one ended
        same: values of inputs that have no rows, by name
        part_rows: with files, rows of a part; 0: a file is one part
        options: a SessionOptions; by default one thread for each run, since Dask runs many
        client: a distributed.Client; None: the current one, or this process where there is none
        progress: with `out`, whether to show a bar on stderr; None: if that is a terminal

    Returns:
        a Scored: dask arrays by output, whose types are those of inference; with `out`, a Job

    The model must be proved to work row by row, or take one row at a time; another one is refused.
    """
    made = _model(model, outputs, same, batch, options)
    _ask_workers(_client(client))
    blocks = _blocks(data, made, part_rows, _client(client), out is not None)
    if out is None:
        return _lazy(made, blocks)
    return _written(made, blocks, os.path.abspath(out), client, progress)


def _ask_workers(client):
    """Whether each worker has this package: a task that a worker cannot read ends it, and the job would wait for one for ever."""
    if client is None:
        return
    try:
        answers = client.run(eval, "__import__('sardonyx.dask').__version__", on_error="return", callback_timeout=_ANSWERS_WITHIN)
    except asyncio.TimeoutError:
        return  # a worker that is silent now, which Dask will give up
    for address, answer in answers.items():
        if isinstance(answer, ImportError):
            raise make("SDX-P0131", f"the worker at {address} does not find sardonyx: {answer}", [],
                       "start it with the PYTHONPATH of this process, or install the package there")
        if isinstance(answer, str) and answer != _sardonyx.__version__:
            raise make("SDX-P0132", f"the worker at {address} has sardonyx {answer}, this process {_sardonyx.__version__}", [], "")


# The model.


def _model(source, outputs, same, batch, options):
    if batch is not None and int(batch) < 1:
        raise make("SDX-P0120", f"batch is {batch}; it is at least 1", [], "")
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        data = _sardonyx.whole_bytes(_sardonyx.Model.load(path), path)
        if path.endswith((".txt", ".onnxtxt")):
            # Text is known by its name; elsewhere it has none. Its hash stays that of the file.
            sha256, data = _worker.sha256(data), _sardonyx.Model.load(path).serialized()
        else:
            sha256 = _worker.sha256(data)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        sha256 = _worker.sha256(data)
    elif hasattr(source, "SerializeToString"):
        data = source.SerializeToString()
        sha256 = _worker.sha256(data)
    else:
        raise make("SDX-P0015", f"a model is a path or bytes, not a {type(source).__name__}", [], "")
    given = options or SessionOptions()
    if options is None:
        given.intra_op_num_threads = 1
    ports = _sardonyx.row_wise(_sardonyx.Model.parse(data, ""), given._engine())
    same = {name: np.asarray(value) for name, value in (same or {}).items()}
    if set(same) != set(ports["same"]):
        raise make("SDX-P0121", f"inputs without rows are {sorted(ports['same'])}; `same` gives {sorted(same)}", [], "")
    known = {port[0]: port for port in ports["outputs"]}
    for name in outputs or []:
        if name not in known:
            raise make("SDX-P0122", f'the model has no output "{name}"; it has {", ".join(known)}', [], "")
    wanted = [known[name] for name in (outputs or known)]
    kept = {key: value for key, value in vars(given).items() if not key.startswith("_") and key != "pack_cache"}
    model = _worker.Model(sha256, data, ports, [port[:3] for port in wanted], same, batch and int(batch), kept)
    values = [(name, array.dtype.str, array.shape, _worker.sha256(array.tobytes())) for name, array in sorted(same.items())]
    settings = repr((values, [port[0] for port in wanted], batch and int(batch), sorted(kept.items())))
    model.token = _worker.sha256((sha256 + settings).encode())
    model.types = {port[0]: port[3] for port in wanted}
    model.writable = {port[0]: port[4] for port in wanted}
    return model


# The blocks of rows: each is a task that gives arrays by input.


class _Block:
    def __init__(self, source, task, rows=math.nan, first=0, stamp=None):
        self.source, self.task, self.rows, self.first, self.stamp = source, task, rows, first, stamp


class _Blocks:
    def __init__(self, sources, part_rows, dependencies, blocks, failed=()):
        self.sources, self.part_rows, self.dependencies, self.blocks = sources, part_rows, dependencies, blocks
        self.failed = list(failed)


def _blocks(data, model, part_rows, client, written):
    ports = model.ports
    if isinstance(data, (str, os.PathLike)) or (
            isinstance(data, (list, tuple)) and data and all(isinstance(path, (str, os.PathLike)) for path in data)):
        return _file_blocks(data, model, part_rows, client, written)
    import dask.array
    import dask.bag

    names = [port[0] for port in ports["inputs"]]
    if isinstance(data, dask.array.Array):
        if len(names) != 1:
            raise make("SDX-P0123", f"the model has rows for {', '.join(names)}: give a dictionary of arrays by these names", [], "")
        data = {names[0]: data}
    if isinstance(data, dict):
        return _array_blocks(data, ports)
    if isinstance(data, dask.bag.Bag):
        return _partition_blocks(data, _worker.of_items, model)
    if hasattr(data, "npartitions") and hasattr(data, "columns"):
        return _partition_blocks(data, _worker.of_frame, model)
    raise make("SDX-P0124", f"rows are a dask array, dataframe or bag, or files, not a {type(data).__name__}", [], "")


def _array_blocks(data, ports):
    names, arrays = [port[0] for port in ports["inputs"]], []
    for name, dtype, row in ports["inputs"]:
        if name not in data:
            raise make("SDX-P0125", f'there is no array for input "{name}"; there are {", ".join(data)}', [], "")
        array = data[name]
        if array.dtype != dtype or array.ndim != len(row) + 1 or any(
                size != -1 and found == found and size != found for size, found in zip(row, array.shape[1:])):
            wanted = ", ".join(["rows", *("?" if size < 0 else str(size) for size in row)])
            raise make("SDX-P0126", f'input "{name}" is {dtype} of ({wanted}); the array is {array.dtype} of {array.shape}', [], "")
        arrays.append(array.rechunk({axis: -1 for axis in range(1, array.ndim)}))
    first = arrays[0].chunks[0]
    if not any(math.isnan(rows) for rows in first):
        arrays = [array.rechunk({0: first}) if array.shape[0] == arrays[0].shape[0] else array for array in arrays]
    if any(len(array.chunks[0]) != len(first) or (array.chunks[0] != first and not math.isnan(first[0])) for array in arrays):
        raise make("SDX-P0127", "the inputs' arrays have different numbers of rows", [], "")
    blocks, token = [], "+".join(array.name for array in arrays)
    for k, rows in enumerate(first):
        keys = [(array.name, k, *([0] * (array.ndim - 1))) for array in arrays]
        blocks.append(_Block(k, (_worker.named, names, keys), rows))
    return _Blocks([f"{token} block {k}" for k in range(len(first))], 0, arrays, blocks)


def _partition_blocks(data, convert, model):
    keys = list(_flat(data.__dask_keys__()))
    blocks = [_Block(k, (convert, key, _model_key(model))) for k, key in enumerate(keys)]
    return _Blocks([f"{keys[0][0]} partition {k}" for k in range(len(keys))], 0, [data], blocks)


def _file_blocks(data, model, part_rows, client, written):
    given = [os.fspath(path) for path in (data if isinstance(data, (list, tuple)) else [data])]
    files = [os.path.abspath(path) for path in _parquet_apart(given)]
    if not written:
        return _Blocks(files, 0, [], [_Block(k, _file_task(path, model)) for k, path in enumerate(files)])
    # Rows are counted where the files are: on the workers.
    if client is not None:
        stamps = client.gather(client.map(_stamp, files, ports=model.ports, pure=False))
    else:
        stamps = [_stamp(path, model.ports) for path in files]
    blocks, failed = [], []
    for k, (path, stamp) in enumerate(zip(files, stamps)):
        if not isinstance(stamp, dict):
            failed.append((path, str(stamp)))
            continue
        step = part_rows or max(stamp["rows"], 1)
        for first in range(0, max(stamp["rows"], 1), step):
            rows = min(step, stamp["rows"] - first)
            blocks.append(_Block(k, _file_task(path, model, first, rows, stamp), rows, first, stamp))
    return _Blocks(files, int(part_rows), [], blocks, failed)


_ENDINGS = (".npy", ".npz", ".csv", ".parquet")


def _parquet_apart(given):
    """Files in order; folders are listed, with the Parquet files in them, which pyarrow will read."""
    for path in given:
        if path.endswith(".parquet"):
            yield path
        elif os.path.isdir(path) and any(name.endswith(".parquet") for name in os.listdir(path)):
            yield from sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(_ENDINGS))
        else:
            yield from _sardonyx.files_of([path])


def _parquet(path, model):
    try:
        import pyarrow.parquet
    except ImportError:
        raise make("SDX-P0128", f"{path}: Parquet files need pyarrow, which is not installed", [], "") from None
    return _worker.of_frame(pyarrow.parquet.read_table(path).to_pandas(), model)


def _stamp(path, ports):
    if not path.endswith(".parquet"):
        return _worker.file_stamp(path, ports)
    try:
        import pyarrow.parquet

        state = os.stat(path)
        return {"rows": pyarrow.parquet.ParquetFile(path).metadata.num_rows, "bytes": state.st_size, "changed": state.st_mtime_ns}
    except ImportError:
        return make("SDX-P0128", f"{path}: Parquet files need pyarrow, which is not installed", [], "")
    except Exception as error:  # pyarrow has errors of many kinds
        return make("SDX-P0129", f"{path}: {error}", [], "")


def _rows_of_parquet(path, model, first, rows):
    block = _parquet(path, model)
    return {name: array[first:None if rows is None else first + rows] for name, array in block.items()}


def _file_task(path, model, first=0, rows=None, stamp=None):
    if path.endswith(".parquet"):
        return (_rows_of_parquet, path, _model_key(model), first, rows)
    return (_worker.of_file, path, _model_key(model), first, rows, stamp)


def _model_key(model):
    """The task that holds the model; what a task needs of it, it asks there."""
    return f"sardonyx-model-{model.token}"


# Graphs.


def _run(model, block, place):
    return _worker.guarded(place, lambda: model.run(block))


def _run_and_write(model, block, place, folder, wanted):
    """A part onto the disk. A worker that lost its answer to a crash of another finds it there."""
    if math.isnan(wanted["rows"]):
        rows = len(next(iter(block.values())))
        wanted = {**wanted, "rows": rows, "source_rows": rows}
    arrays = _worker.guarded(place, lambda: model.run(block))
    return _job.write_part(folder, wanted, list(model.types), arrays)


def _carried(model):
    return _model_key(model), {_model_key(model): (_worker.carry, model)}


def _lazy(model, blocks):
    import dask.array
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    model_key, graph = _carried(model)
    token = uuid.uuid4().hex
    for k, block in enumerate(blocks.blocks):
        graph[f"sardonyx-score-{token}", k] = (_run, model_key, block.task, blocks.sources[block.source])
    whole = HighLevelGraph.from_collections(f"sardonyx-score-{token}", graph, dependencies=blocks.dependencies)
    arrays = {}
    for i, (name, dtype, row) in enumerate(model.outputs):
        layer = f"sardonyx-output-{i}-{token}"
        tasks = {(layer, k, *([0] * len(row))): (getitem, (f"sardonyx-score-{token}", k), i) for k in range(len(blocks.blocks))}
        layers = {**whole.layers, layer: tasks}
        dependencies = {**whole.dependencies, layer: {f"sardonyx-score-{token}"}}
        chunks = (tuple(block.rows for block in blocks.blocks), *((math.nan if size < 0 else size,) for size in row))
        arrays[name] = dask.array.Array(HighLevelGraph(layers, dependencies), layer, chunks, dtype)
    together = [Delayed((f"sardonyx-score-{token}", k), whole, layer=f"sardonyx-score-{token}") for k in range(len(blocks.blocks))]
    return Scored(arrays, model.types, together)


def _written(model, blocks, folder, client, progress):
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    unwritable = [name for name, writable in model.writable.items() if not writable]
    if unwritable:
        raise make("SDX-P0130", f"no .npy file holds {unwritable[0]} ({model.types[unwritable[0]]}); choose other outputs", [], "")
    _job.begin(folder, {"format": _job.FORMAT, "model": model.sha256, "numerics": model.options["numerics"],
                        "outputs": [{"name": name, "type": kind} for name, kind in model.types.items()],
                        "sources": blocks.sources, "part_rows": blocks.part_rows})
    there = _job.manifests(folder)
    model_key, graph = _carried(model)
    token, parts, skipped = uuid.uuid4().hex, {}, 0
    for k, block in enumerate(blocks.blocks):
        stamp = block.stamp or {"rows": block.rows, "bytes": 0, "changed": 0}
        wanted = {"part": _job.part_name(block.source, block.first), "model": model.sha256, "source": block.source,
                  "source_name": blocks.sources[block.source], "first_row": block.first, "rows": block.rows,
                  "source_rows": stamp["rows"], "source_bytes": stamp["bytes"], "source_changed": stamp["changed"]}
        known = {key: value for key, value in wanted.items() if value == value}  # all but a number of rows that is open
        if _job.is_finished(folder, there.get(wanted["part"]), known):
            skipped += 1
            continue
        parts[f"sardonyx-part-{token}-{k}"] = wanted["part"]
        graph[f"sardonyx-part-{token}-{k}"] = (_run_and_write, model_key, block.task, wanted["part"] + ": " + wanted["source_name"],
                                               folder, wanted)
    _forget_changed(folder, there, blocks)
    whole = HighLevelGraph.from_collections(f"sardonyx-job-{token}", graph, dependencies=blocks.dependencies)
    failed = list(blocks.failed)
    failed += _compute({key: Delayed(key, whole, layer=f"sardonyx-job-{token}") for key in parts}, parts, _client(client), progress)
    if failed:
        raise ScoreFailed(failed)
    lines = _sardonyx.merge([folder])
    return Job(folder, lines, len(blocks.blocks), skipped)


def _forget_changed(folder, there, blocks):
    """Manifests of a source that has changed since do not stay."""
    stamps = {block.source: block.stamp for block in blocks.blocks if block.stamp}
    for name, manifest in there.items():
        stamp = stamps.get(manifest.get("source"))
        found = {"rows": manifest.get("source_rows"), "bytes": manifest.get("source_bytes"), "changed": manifest.get("source_changed")}
        if stamp and stamp != found:
            _job.forget(folder, name)


# Running.


def _client(client):
    if client is not None:
        return client
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _flat(keys):
    for key in keys:
        if isinstance(key, list):
            yield from _flat(key)
        else:
            yield key


def _in_order(delayed):
    """Computed values in order, a window of them at a time."""
    import dask

    client = _client(None)
    if client is None:
        for block in delayed:
            yield dask.compute(block, scheduler="sync")[0]
        return
    window = max(4, 2 * sum(client.ncores().values()))
    waiting = []
    for block in itertools.chain(delayed, [None] * window):
        if block is not None:
            waiting.append(client.compute(block))
        if waiting and (block is None or len(waiting) > window):
            yield client.gather(waiting.pop(0))


class _Bar:
    """How far the parts are, on stderr."""

    def __init__(self, total, shown):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.shown = sys.stderr.isatty() if shown is None else shown
        self.drawn = 0.0

    def step(self):
        self.done += 1
        now = time.monotonic()
        if self.shown and (now - self.drawn > 0.1 or self.done == self.total):
            self.drawn = now
            rate = self.done / max(now - self.start, 1e-9)
            filled = "#" * (20 * self.done // max(self.total, 1))
            print(f"\rscoring [{filled:.<20}] {self.done} of {self.total} parts, {rate:.0f} per second, "
                  f"{(self.total - self.done) / rate:.0f} s left ", end="\n" if self.done == self.total else "", file=sys.stderr, flush=True)


def _compute(delayed, parts, client, progress):
    """Runs all tasks; gives (part, reason) of those that failed."""
    bar, failed = _Bar(len(delayed), progress), []
    if client is None:
        import dask

        for key, task in delayed.items():
            try:
                dask.compute(task, scheduler="sync")
            except Exception as error:  # whatever a user's graph raises: the part is named, the others go on
                failed.append((parts[key], str(error)))
            bar.step()
        return failed
    from distributed import as_completed

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Large object")  # the model, which travels once
        futures = dict(zip(client.compute(list(delayed.values())), delayed))
    for future in as_completed(list(futures)):
        error = future.exception()
        if error is not None:
            failed.append((parts[futures[future]], f"{type(error).__name__}: {error}"))
        bar.step()
    return failed
