"""A real server under Poisson load, and what the simulation says of it; `scripts/capacity.py check` calls it.

The law of a run's time and the overhead of a request are measured alone, with one client; then load comes at shares of the
capacity, from clients that do not wait for each other, and latencies are compared with those of the simulation.
"""

import http.client
import json
import os
import pathlib
import queue
import random
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/scale"))

NODES = 800  # a run of some milliseconds
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
m (float[N,256] x) => (float[N,256] t%d)
<float[256,256] w = {%s}>
{
%s
}
""" % (NODES, ", ".join(str((i * 37 % 101) / 10100 - 0.005) for i in range(65536)),
       "\n".join(f"  t{i + 1} = MatMul ({f't{i}' if i else 'x'}, w)" for i in range(NODES)))
DATA = bytes(256 * 4)


def body(rows=1):
    head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [rows, 256],
                                   "parameters": {"binary_data_size": len(DATA) * rows}}]}).encode()
    return head + DATA * rows, {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"}


class Client:
    def __init__(self, port, rows=1):
        self.connection, (self.body, self.headers) = http.client.HTTPConnection("127.0.0.1", port, timeout=60), body(rows)

    def ask(self):
        begin = time.perf_counter()
        self.connection.request("POST", "/v2/models/m/infer", self.body, self.headers)
        response = self.connection.getresponse()
        response.read()
        assert response.status == 200
        return (time.perf_counter() - begin) * 1000


def statistics(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/v2/models/m/stats")
    stats = json.loads(connection.getresponse().read())["model_stats"][0]
    return stats["inference_stats"]["compute_infer"]["ns"] / 1e6, stats["execution_count"]


def alone(port, rows, count):
    """A lone client's latencies, and the mean time of a run among them."""
    client = Client(port, rows)
    for _ in range(5):
        client.ask()
    before = statistics(port)
    latencies = [client.ask() for _ in range(count)]
    after = statistics(port)
    return latencies, (after[0] - before[0]) / (after[1] - before[1])


def under_load(port, rate, seconds, seed):
    """Latencies from the moment at which a request should have begun."""
    rng, due, work, latencies = random.Random(seed), time.perf_counter() + 0.2, queue.Queue(), []

    def client():
        mine = Client(port)
        while (when := work.get()) is not None:
            time.sleep(max(0.0, when - time.perf_counter()))
            mine.ask()
            latencies.append((time.perf_counter() - when) * 1000)

    end = due + seconds
    while due < end:
        due += rng.expovariate(rate)
        work.put(due)
    threads = [threading.Thread(target=client) for _ in range(32)]
    for thread in threads:
        work.put(None)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    latencies.sort()
    return {"mean_ms": sum(latencies) / len(latencies), "p50_ms": latencies[len(latencies) // 2],
            "p99_ms": latencies[int(len(latencies) * 0.99)], "requests": len(latencies)}


def between(times, rows):
    """The time of a run of `rows`, on the lines between measured ones."""
    known = sorted(times)
    high = next((size for size in known if size >= rows), known[-1])
    low = max((size for size in known if size <= rows), default=known[0])
    if low == high:
        return times[low] * max(rows / high, 1)
    return times[low] + (times[high] - times[low]) * (rows - low) / (high - low)


def check(simulate, seconds):
    import haproxy_test

    folder = pathlib.Path(tempfile.mkdtemp())
    haproxy_test.MODEL = MODEL
    fleet = haproxy_test.Fleet(folder)
    answer = {"cpus": os.cpu_count(), "loads": []}
    try:
        fleet.start(0)
        fleet.wait_ready(fleet.ports[0])
        port = fleet.ports[0]
        for rows in range(1, 17):  # plans of all sizes that batches may have
            Client(port, rows).ask()
        for share in (0.3, 0.5, 0.7):
            # The law of a run's time is drawn from what a lone client sees just before: a machine is not always equally fast.
            latencies, run_one = alone(port, 1, 150)
            times = {1: run_one, **{rows: alone(port, rows, 25)[1] for rows in (2, 3, 4, 8, 16)}}
            overhead = max(sorted(latencies)[len(latencies) // 2] - run_one, 0.0)
            runs = [(latency - overhead) / run_one for latency in latencies]
            rate = share * 1000 / run_one
            before = statistics(port)
            measured = under_load(port, rate, seconds, 7)
            after = statistics(port)
            measured["run_ms"] = (after[0] - before[0]) / max(after[1] - before[1], 1)
            measured["rows_per_run"] = measured["requests"] / max(after[1] - before[1], 1)
            simulated = simulate(0, 0, rate, 1, 1, batch=64, requests=100_000, overhead=overhead,
                                 service=lambda rng, count: rng.choice(runs) * between(times, count))
            answer["loads"].append({"share": share, "rate": rate, "run_ms": times, "overhead_ms": overhead, "measured": measured,
                                    "simulated": {key: simulated[key] for key in ("mean_ms", "p50_ms", "p99_ms", "rows_per_run")},
                                    "mean_ratio": measured["mean_ms"] / simulated["mean_ms"],
                                    "p99_ratio": measured["p99_ms"] / simulated["p99_ms"]})
    finally:
        fleet.close()
    return answer
