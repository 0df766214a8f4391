"""The folder of a job: the same files that `sardonyx score` writes (cli/score/job.h), so that either goes on with the other's."""

import glob
import hashlib
import io
import json
import os
import socket
import threading

import numpy as np

from .._errors import make

FORMAT = "sardonyx-score-1"


def begin(folder, job):
    """Makes the folder and its job.json; one that is there must say the same."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "job.json")
    if not os.path.exists(path):
        write_whole(path, json.dumps(job, indent=1, ensure_ascii=False).encode() + b"\n")
    with open(path) as file:
        there = json.load(file)
    differing = [key for key in job if there.get(key) != job[key]]
    if differing:
        raise make("SDX-P0110", f"{folder} holds another job: its {' and '.join(differing)} differ", [],
                   "finish that one, or give another folder")


def part_name(source, first):
    return f"part-{source:05}-{first:012}"


def manifests(folder):
    """By name; those that are not whole are as good as none."""
    found = {}
    for path in glob.glob(os.path.join(glob.escape(folder), "part-*.json")):
        try:
            with open(path) as file:
                manifest = json.load(file)
            found[manifest["part"]] = manifest
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def is_finished(folder, manifest, wanted):
    """Whether a manifest is the wanted part's, and its files have their sizes."""
    if manifest is None or any(manifest.get(key) != wanted[key] for key in wanted):
        return False
    try:
        return all(os.path.getsize(os.path.join(folder, made["file"])) == made["bytes"] for made in manifest["outputs"])
    except (OSError, KeyError, TypeError):
        return False


def forget(folder, name):
    try:
        os.unlink(os.path.join(folder, name + ".json"))
    except FileNotFoundError:
        pass


def write_part(folder, wanted, names, arrays):
    """Writes the outputs' files and then the manifest, which it returns."""
    outputs = []
    for i, (name, array) in enumerate(zip(names, arrays)):
        array = np.ascontiguousarray(array)
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
        pieces = [header.getvalue(), memoryview(array).cast("B") if array.size else b""]
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        file = f"{wanted['part']}.{i}.npy"
        if wanted["rows"]:
            write_whole(os.path.join(folder, file), *pieces)
            outputs.append({"name": name, "file": file, "shape": list(array.shape), "bytes": sum(map(len, pieces)),
                            "sha256": digest.hexdigest()})
    manifest = {**wanted, "outputs": outputs}
    write_whole(os.path.join(folder, wanted["part"] + ".json"), json.dumps(manifest, indent=1, ensure_ascii=False).encode() + b"\n")
    return manifest


def write_whole(path, *pieces):
    """A file that is on the disk, under its name, when this returns; or none."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{socket.gethostname()}.{os.getpid()}.{threading.get_ident()}")
    try:
        with open(temporary, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except OSError as error:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise make("SDX-P0111", f"{path} cannot be written: {error.strerror}", [], "") from None
    descriptor = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # a file system whose folders cannot be synced promises what it promises
    finally:
        os.close(descriptor)
