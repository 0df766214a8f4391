#!/usr/bin/python3
"""How many machines? A model of capacity, and a simulation of it (docs/scaling.md).

    capacity.py figures MODEL [--set N=ROWS]                 what a run costs here: time of 1 and of 64 rows, memory
    capacity.py serve  --first MS --row MS --rate R ...       latency of many servers behind a balancer
    capacity.py score  --row MS --rows N --machines M ...     how long a job takes on machines that fail
    capacity.py check  [--seconds S]                          the simulation against a real server, here and now

Times are in milliseconds. A run of b rows takes first + b * row. Simulations draw from --seed and are the same everywhere.
"""

import argparse
import heapq
import json
import os
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("SARDONYX", str(ROOT / "build/sardonyx"))


# What a run costs.


def figures(model, rows=64, size="N", runs=20):
    """Of one thread: the constant and the slope of time over rows, and memory."""

    def bench(count):
        text = subprocess.run([PROGRAM, "bench", model, "--random", "1", "--set", f"{size}={count}", "--threads", "1", "--runs", str(runs),
                               "--json"], check=True, capture_output=True, text=True).stdout
        return json.loads(text)

    info = subprocess.run([PROGRAM, "info", model, "--set", f"{size}=1"], check=True, capture_output=True, text=True).stdout
    one, many = bench(1), bench(rows)
    row = max((many["median_ms"] - one["median_ms"]) / (rows - 1), 1e-6)
    return {"first_ms": max(one["median_ms"] - row, 0.0), "row_ms": row, "memory_mb": many["peak_rss_mb"],
            "arena_mb": many["arena_bytes"] / 2**20,
            "weights_mb": int(re.search(r"([\d,]+) bytes", info)[1].replace(",", "")) / 2**20,
            "multiply_adds": int(re.search(r"multiply-adds ([\d,]+)", info)[1].replace(",", ""))}


# Servers behind a balancer.


class LeastConnections:
    """Gives the server with the fewest requests, any of them where several have as few."""

    def __init__(self, servers, rng):
        self.rng, self.load = rng, [0] * servers
        self.levels, self.place, self.lowest = [list(range(servers))], list(range(servers)), 0

    def _leave(self, server):
        level = self.levels[self.load[server]]
        last = level.pop()
        if last != server:
            level[self.place[server]], self.place[last] = last, self.place[server]

    def _enter(self, server, load):
        while len(self.levels) <= load:
            self.levels.append([])
        self.load[server], self.place[server] = load, len(self.levels[load])
        self.levels[load].append(server)
        self.lowest = min(self.lowest, load)

    def add(self, server, change):
        self._leave(server)
        self._enter(server, self.load[server] + change)

    def take(self):
        while not self.levels[self.lowest]:
            self.lowest += 1
            if self.lowest == len(self.levels):
                return None
        server = self.rng.choice(self.levels[self.lowest])
        self.add(server, 1)
        return server

    def out(self, server):
        self._leave(server)
        self.load[server] = 0

    def back(self, server):
        self._enter(server, 0)


def simulate_serving(first, row, rate, servers, workers, batch=64, requests=200_000, seed=1, spread=0.0, mtbf_s=0.0, restart_s=30.0,
                     service=None, overhead=0.0):
    """Latencies, in ms, of Poisson arrivals at `rate` per second. A free worker takes all that waits, up to `batch`.

    `spread`: standard deviation of a run's time over its mean. A server fails every `mtbf_s` seconds, for `restart_s`; its requests go to
    others at once, as HAProxy's retries do. `service`: another law of a run's time. `overhead`: added to each latency.
    """
    rng = random.Random(seed)
    balancer = LeastConnections(servers, rng)
    waiting, free, epoch = [[] for _ in range(servers)], [workers] * servers, [0] * servers
    running = [{} for _ in range(servers)]
    events, latencies, ids, runs, retried, busy = [], [], 0, 0, 0, 0.0
    per_ms = rate / 1000

    def time_of(count):
        if service is not None:
            return service(rng, count)
        mean = first + row * count
        return mean if spread == 0 else rng.gammavariate(1 / spread**2, mean * spread**2)

    def start(server, now):
        nonlocal ids, busy
        while free[server] > 0 and waiting[server]:
            together, waiting[server] = waiting[server][:batch], waiting[server][batch:]
            free[server] -= 1
            ids += 1
            took = time_of(len(together))
            busy += took
            running[server][ids] = together
            heapq.heappush(events, (now + took, 1, server, ids, epoch[server]))

    def place(arrived, now):
        server = balancer.take()
        if server is None:  # none is up: it comes again
            heapq.heappush(events, (now + 100, 4, arrived, 0, 0))
            return
        waiting[server].append(arrived)
        start(server, now)

    heapq.heappush(events, (rng.expovariate(per_ms), 0, 0, 0, 0))
    if mtbf_s > 0:
        for server in range(servers):
            heapq.heappush(events, (rng.expovariate(1 / (mtbf_s * 1000)), 2, server, 0, 0))
    arrivals, now = 0, 0.0
    while events and len(latencies) < requests:
        now, kind, server, number, when = heapq.heappop(events)
        if kind == 0:
            place(now, now)
            arrivals += 1
            heapq.heappush(events, (now + rng.expovariate(per_ms), 0, 0, 0, 0))
        elif kind == 1:
            if when != epoch[server]:
                continue
            done = running[server].pop(number)
            runs += 1
            latencies.extend(now - arrived for arrived in done)
            balancer.add(server, -len(done))
            free[server] += 1
            start(server, now)
        elif kind == 2:
            lost = waiting[server] + [arrived for together in running[server].values() for arrived in together]
            waiting[server], running[server], free[server] = [], {}, 0
            epoch[server] += 1
            balancer.out(server)
            retried += len(lost)
            for arrived in lost:
                place(arrived, now)
            heapq.heappush(events, (now + restart_s * 1000, 3, server, 0, 0))
        elif kind == 3:
            free[server] = workers
            balancer.back(server)
            heapq.heappush(events, (now + rng.expovariate(1 / (mtbf_s * 1000)), 2, server, 0, 0))
        else:
            place(server, now)
    kept = sorted(latency + overhead for latency in latencies[len(latencies) // 5:])  # after a warm-up
    return {"mean_ms": sum(kept) / len(kept), "p50_ms": kept[len(kept) // 2], "p99_ms": kept[int(len(kept) * 0.99)],
            "p999_ms": kept[int(len(kept) * 0.999)], "utilisation": busy / (now * servers * workers),
            "rows_per_run": len(latencies) / max(runs, 1), "retried": retried, "requests": len(latencies), "failed": 0}


# A job on machines that fail.


def simulate_scoring(row, rows, machines, workers, part_rows=65536, overhead=5.0, mtbf_s=0.0, restart_s=60.0, detect_s=30.0, speeds=0.0,
                     shards=False, seed=1):
    """Hours and efficiency of a job. `overhead`: ms of a part beyond its rows. `speeds`: how much machines differ (standard deviation over
    mean). `shards`: parts are dealt out beforehand, as by --shard; otherwise whoever is free takes the next, as with Dask. A machine that
    fails loses the parts at work; it is missed after `detect_s` and back after `restart_s`.
    """
    rng = random.Random(seed)
    parts = [part_rows] * (rows // part_rows) + ([rows % part_rows] if rows % part_rows else [])
    slots = machines * workers
    speed = [1.0 if speeds == 0 else max(rng.gauss(1, speeds), 0.1) for _ in range(machines)]
    fails = [rng.expovariate(1 / mtbf_s) * 1000 if mtbf_s > 0 else float("inf") for _ in range(machines)]
    up = [0.0] * machines  # from when on a machine is back
    queues = [parts[slot::slots] for slot in range(slots)] if shards else [parts[:]]
    events, idle = [(0.0, 0, slot) for slot in range(slots)], []  # (when, 0, slot that is free), (when, 1, part that is missed)
    done, lost, end, useful = 0, 0, 0.0, 0.0
    heapq.heapify(events)
    while done < len(parts):
        now, kind, what = heapq.heappop(events)
        if kind == 1:
            queues[0].append(what)
            if idle:
                heapq.heappush(events, (now, 0, idle.pop()))
            continue
        machine, queue = what // workers, queues[what if shards else 0]
        if fails[machine] <= now:
            up[machine] = fails[machine] + restart_s * 1000
            fails[machine] = up[machine] + rng.expovariate(1 / mtbf_s) * 1000
        if now < up[machine]:
            heapq.heappush(events, (up[machine], 0, what))
            continue
        if not queue:
            idle.append(what)
            continue
        part = queue.pop()
        took = part * row / speed[machine] + overhead
        if now + took > fails[machine]:
            lost += 1
            if shards:
                queue.append(part)
            else:
                heapq.heappush(events, (fails[machine] + detect_s * 1000, 1, part))
            heapq.heappush(events, (fails[machine], 0, what))
            continue
        done += 1
        useful += part * row
        end = max(end, now + took)
        heapq.heappush(events, (now + took, 0, what))
    return {"hours": end / 3.6e6, "efficiency": useful / (end * slots), "parts": len(parts), "parts_lost": lost,
            "rows_per_s": rows / (end / 1000)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("figures")
    one.add_argument("model")
    one.add_argument("--size", default="N", help="the name of the open size that counts rows")
    one.add_argument("--rows", type=int, default=64)
    serve = commands.add_parser("serve")
    score = commands.add_parser("score")
    for name, kind, default in (("first", float, 0.0), ("row", float, None), ("rate", float, None), ("servers", int, 3), ("workers", int, 1),
                                ("batch", int, 64), ("requests", int, 200_000), ("spread", float, 0.0), ("mtbf_s", float, 0.0),
                                ("restart_s", float, 30.0), ("overhead", float, 0.0), ("seed", int, 1)):
        serve.add_argument("--" + name.replace("_", "-"), type=kind, default=default, required=default is None)
    for name, kind, default in (("row", float, None), ("rows", int, None), ("machines", int, 1), ("workers", int, 1), ("part_rows", int, 65536),
                                ("overhead", float, 5.0), ("mtbf_s", float, 0.0), ("restart_s", float, 60.0), ("detect_s", float, 30.0),
                                ("speeds", float, 0.0), ("seed", int, 1)):
        score.add_argument("--" + name.replace("_", "-"), type=kind, default=default, required=default is None)
    score.add_argument("--shards", action="store_true")
    check = commands.add_parser("check")
    check.add_argument("--seconds", type=float, default=5.0)
    given = vars(parser.parse_args())
    command = given.pop("command")
    if command == "figures":
        answer = figures(given["model"], given["rows"], given["size"])
    elif command == "serve":
        answer = simulate_serving(**given)
    elif command == "score":
        answer = simulate_scoring(**given)
    else:
        sys.path.insert(0, str(ROOT / "bench/scale"))
        import serving  # a server and clients: not needed to plan

        answer = serving.check(simulate_serving, given["seconds"])
    print(json.dumps(answer, indent=1))


if __name__ == "__main__":
    main()
