"""Models over what Dask holds: rows on many machines, one digest.

    from distributed import Client
    import sardonyx.dask

    client = Client("scheduler:8786")
    scored = sardonyx.dask.score(rows, "model.onnx")              # rows: a dask array, dataframe, bag, or files
    scored["probability"]                                        # a dask array; its type is known before anything runs
    scored.digest()                                              # the lines of `sardonyx score` and `sardonyx run --digest`

    job = sardonyx.dask.score("rows/", "model.onnx", out="job")  # written part by part; a rerun goes on where one ended

docs/scaling.md says what a job's folder holds and how its digest is computed.
"""

from ._api import Job, Scored, ScoreFailed, compiled, score

__all__ = ["Job", "ScoreFailed", "Scored", "compiled", "score"]
