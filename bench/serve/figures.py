#!/usr/bin/python3
"""The server's figures and the bars they are held to, one line each: figures.py [NAME...]. Exit code 1 if one misses its bar.

  latency     what the server adds to a run, at one client: REST, gRPC, 602 KB
  throughput  requests per second of one core on a trivial model
  peer        the same, and small models, beside onnxruntime-node behind node's http, http2 and @grpc/grpc-js, and beside the system's
              own part (floor.cc)
  resnet50    the server beside `sardonyx bench`
  batching    16 clients of GPT-2's decoding step, with and without batching
  metrics     what metrics cost while a scraper reads them

wrk and h2load must be there; node, onnxruntime-node and grpc-js for the peer (--ort, --grpc); NAME.onnx and NAME.bin for models."""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import load

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("names", nargs="*")
parser.add_argument("--program", default=str(load.ROOT / "build/sardonyx"))
parser.add_argument("--cores", default="0,1", help="the server's and the clients'")
parser.add_argument("--seconds", type=int, default=3, help="of each measurement")
parser.add_argument("--rounds", type=int, default=3, help="of each; the best counts, for the machine may be shared")
parser.add_argument("--only", default="", help="of the peer: what has one of these words in its name, as gRPC,x_mlp")
parser.add_argument("--ort", default=str(load.ROOT / "build/peer"))
parser.add_argument("--grpc", default=str(load.ROOT / "build/grpc-js"))
parser.add_argument("--models", default=str(load.ROOT / "build/models"))
arguments = parser.parse_args()
SERVER, CLIENT = arguments.cores.split(",")
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="sardonyx-figures-models-"))
VALUES = (1, 2, 3, 4)
SMALL = load.json_body(list(VALUES), [1, 4])
SMALL_TENSOR = [("x", "FP32", (1, 4), struct.pack("<4f", *VALUES))]
missed = []


def say(name, value, unit, bar=None, at_least=False):
    good = bar is None or (value >= bar if at_least else value <= bar)
    verdict = "" if bar is None else f"   {'at least' if at_least else 'at most'} {bar:g}: {'yes' if good else 'NO'}"
    print(f"{name:<58} {value:>12,.1f} {unit:<6}{verdict}", flush=True)
    if not good:
        missed.append(name)


def folder(**models):
    made = pathlib.Path(tempfile.mkdtemp(dir=FOLDER))
    for name, text in models.items():
        (made / f"{name}.onnxtxt").write_text(text)
    return made


def best(measure, key):
    results = [measure() for _ in range(arguments.rounds)]
    return min(results, key=key)


def ask(server, model, body, connections, seconds=None):
    before = server.stats(model)
    result = load.wrk(server.port, f"/v2/models/{model}/infer", *body, connections, seconds or arguments.seconds, CLIENT)
    after = server.stats(model)
    assert after[0] - before[0] >= result["requests"], "answers that are no inferences"
    result["run_us"] = (after[2] - before[2]) / (after[0] - before[0]) / 1000
    result["rows_per_run"] = (after[0] - before[0]) / max(after[1] - before[1], 1)
    return result


def ask_grpc(server, model, tensors, clients, streams, count):
    before = server.stats(model)
    result = load.h2load(server.port, load.GRPC_PATH, load.grpc_body(model, tensors), load.GRPC_HEADERS, clients, streams, count, CLIENT)
    after = server.stats(model)
    assert after[0] - before[0] == count, "answers that are no inferences"
    result["run_us"] = (after[2] - before[2]) / count / 1000
    return result


def latency():
    with load.Server(arguments.program, folder(double=load.TRIVIAL, pixels=load.PIXELS), SERVER) as server:
        added = lambda result: result["p50_us"] - result["run_us"]
        result = best(lambda: ask(server, "double", SMALL, 1), added)
        say("REST, 4 floats in JSON, one client: added p50", added(result), "us", 60)
        result = best(lambda: ask(server, "double", load.binary_body(SMALL_TENSOR), 1), added)
        say("REST, 4 floats in binary, one client: added p50", added(result), "us", 60)
        result = best(lambda: ask_grpc(server, "double", SMALL_TENSOR, 1, 1, 4000 * arguments.seconds), added)
        say("gRPC, 4 floats, one client: added p50", added(result), "us", 80)
        picture = [("x", "FP32", (1, 3, 224, 224), bytes(602112))]
        result = best(lambda: ask(server, "pixels", load.binary_body(picture), 1), added)
        say("REST, 602 KB in binary, one client: added p50", added(result), "us", 250)
        result = best(lambda: ask_grpc(server, "pixels", picture, 1, 1, 500 * arguments.seconds), added)
        say("gRPC, 602 KB, one client: added p50", added(result), "us")


def throughput():
    with load.Server(arguments.program, folder(double=load.TRIVIAL), SERVER) as server:
        fastest = lambda result: -result["rate"]
        say("REST, JSON, trivial model: requests per second and core", best(lambda: ask(server, "double", SMALL, 32), fastest)["rate"], "/s", 40_000, True)
        say("REST, binary, trivial model", best(lambda: ask(server, "double", load.binary_body(SMALL_TENSOR), 32), fastest)["rate"], "/s")
        result = best(lambda: ask_grpc(server, "double", SMALL_TENSOR, 8, 16, 25_000 * arguments.seconds), fastest)
        say("gRPC, trivial model: requests per second and core", result["rate"], "/s", 25_000, True)


def per_cpu_second(process, work):
    """What a process does in a second of a core, however busy the machine is."""
    before = load.cpu_s(process)
    return work() / (load.cpu_s(process) - before)


def whole_answer(port, path, body, headers):
    """An answer's bytes as they come, head and all."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: a\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = client.recv(1 << 20)
        head, _, rest = answer.partition(b"\r\n\r\n")
        while len(rest) < int(re.search(rb"Content-Length: (\d+)", head)[1]):
            more = client.recv(1 << 20)
            answer, rest = answer + more, rest + more
    return answer


def floor(answer):
    """A process that sends these bytes whatever it is asked, and its port: what the system alone takes."""
    (FOLDER / "answer").write_bytes(answer)
    if not (FOLDER / "floor").exists():
        subprocess.run([os.environ.get("CXX", "c++"), "-O2", "-std=c++20", load.ROOT / "bench/serve/floor.cc", "-o", FOLDER / "floor"], check=True)
    process = subprocess.Popen(load.pinned(SERVER, [FOLDER / "floor", FOLDER / "answer"]), stdout=subprocess.PIPE, text=True)
    return process, json.loads(process.stdout.readline())["http"]


def peer_models():
    """(what it is, its file, the tensors of a request): two that are hardly a model, and small ones of the shared ones."""
    import small
    for name, text, inputs in (("trivial", load.TRIVIAL, 4), ("dense 64-32-10", load.dense(64, 32, 10), 64)):
        made = FOLDER / "peer" / name.split()[0] / "m"
        made.mkdir(parents=True)
        (made / "m.onnxtxt").write_text(text)
        subprocess.run([arguments.program, "convert", made / "m.onnxtxt", made / "model.onnx"], check=True, stdout=subprocess.DEVNULL)
        (made / "m.onnxtxt").unlink()
        yield name, made, [("x", "FP32", (1, inputs), struct.pack(f"<{inputs}f", *(i / 7 for i in range(inputs))))]
    for name, (tensors, outputs) in small.MODELS.items():
        if (pathlib.Path(arguments.models) / (name + ".onnx")).exists():
            made = FOLDER / "peer" / name / "m"
            made.mkdir(parents=True)
            with_weights(name, made)
            (made / (name + ".onnx")).unlink()
            small.open_rows(os.path.join(arguments.models, name + ".onnx"), made / "model.onnx", outputs)
            yield name, made, tensors


def same_answers(ours, theirs, body):
    """Both engines' answers to a request in JSON, which must be the same up to rounding."""
    answers = [json.loads(whole_answer(port, "/v2/models/m/infer", *body).partition(b"\r\n\r\n")[2])["outputs"] for port in (ours, theirs)]
    for a, b in zip(*answers):
        assert a["name"] == b["name"] and a["shape"] == b["shape"], (a["name"], b["name"])
        assert all(abs(x - y) <= 1e-3 * max(1, abs(y)) for x, y in zip(a["data"], b["data"])), a["name"]


def peer():
    for name, made, tensors in peer_models():
        json_body, binary_body = load.json_tensors(tensors), load.binary_body(tensors)
        process = subprocess.Popen(load.pinned(SERVER, ["node", load.ROOT / "bench/serve/peer.cjs", arguments.ort, arguments.grpc, made / "model.onnx"]),
                                   stdout=subprocess.PIPE, text=True)
        alone = []
        try:
            ports = json.loads(process.stdout.readline())
            # Without looking before it sleeps: where clients are slower than it, that is no time of a request.
            with load.Server(arguments.program, made.parent, SERVER, config={"look_microseconds": 0}) as server:
                same_answers(server.port, ports["http"], json_body)

                def rest(body):
                    system, system_port = floor(whole_answer(server.port, "/v2/models/m/infer", *body))
                    alone.append(system)
                    work = lambda port: load.wrk(port, "/v2/models/m/infer", *body, 32, arguments.seconds, CLIENT)["requests"]
                    return [(server.process, lambda: work(server.port)), (process, lambda: work(ports["http"])), (system, lambda: work(system_port))]

                def h2(their_port, path, body, headers):
                    """As many as take about the time of a measurement, by what a second few took: the first ones warm a side up."""
                    def side(port):
                        few = lambda: load.h2load(port, path, body, headers, 8, 16, 300, CLIENT)["rate"]
                        count = (few(), max(300, int(few() * arguments.seconds)))[1]
                        return lambda: load.h2load(port, path, body, headers, 8, 16, count, CLIENT) and count
                    return [(server.process, side(server.port)), (process, side(their_port))]
                ways = {"REST, JSON": lambda: rest(json_body), "REST, binary": lambda: rest(binary_body),
                        "REST over HTTP/2, JSON": lambda: h2(ports["h2c"], "/v2/models/m/infer", *json_body),
                        "gRPC": lambda: h2(ports["grpc"], load.GRPC_PATH, load.grpc_body("m", tensors), load.GRPC_HEADERS)}
                for way, sides_of in ways.items():
                    if arguments.only and not any(word in f"{way}, {name}" for word in arguments.only.split(",")):
                        continue
                    sides = sides_of()
                    # In turns, so that both see the same machine.
                    rates = [[per_cpu_second(side, work) for side, work in sides] for _ in range(arguments.rounds)]
                    ours, theirs, *system = (max(side) for side in zip(*rates))
                    print(f"{way}, {name}: {ours:,.0f} requests per second of CPU time, the peer {theirs:,.0f}")
                    say(f"{way}, {name}: times the peer's throughput of a core", ours / theirs, "times", 10, True)
                    for most in system:
                        say(f"{way}, {name}: the same, receiving and sending alone", most / theirs, "times")
        finally:
            for one in (process, *alone):
                one.kill()


def with_weights(name, to):
    for suffix in (".onnx", ".bin"):
        shutil.copy(pathlib.Path(arguments.models) / (name + suffix), to)


def resnet50():
    models = FOLDER / "resnet50"
    (models / "resnet50").mkdir(parents=True)
    with_weights("resnet50", models / "resnet50")
    body = load.binary_body([("x", "FP32", (1, 3, 224, 224), bytes(602112))])
    with load.Server(arguments.program, models, SERVER) as server:
        pairs = []
        for _ in range(2 * arguments.rounds):  # in turns; of each side the fastest run, which a busy machine spoils least
            text = subprocess.run(load.pinned(SERVER, [arguments.program, "bench", models / "resnet50/resnet50.onnx", "--random", 1, "--runs", 10 * arguments.seconds,
                                                       "--threads", 1, "--json"]), capture_output=True, text=True, check=True).stdout
            served = ask(server, "resnet50", body, 1)
            pairs.append((json.loads(text)["min_ms"] * 1000, served["min_us"], served["p50_us"] - served["run_us"]))
    print("resnet50, us: bench, served to one client, around its run:", [tuple(round(x) for x in pair) for pair in pairs])
    say("resnet50 served: time over `sardonyx bench`", (min(p[1] for p in pairs) / min(p[0] for p in pairs) - 1) * 100, "%", 3)


def batching():
    import gpt2
    models = FOLDER / "gpt2"
    (models / "gpt2").mkdir(parents=True)
    gpt2.open_rows(os.path.join(arguments.models, "gpt2_decode.onnx"), models / "gpt2/model.onnx")
    shutil.copy(os.path.join(arguments.models, "gpt2_decode.bin"), models / "gpt2")
    past = 4
    tensors = [("input_ids", "INT64", (1, 1), struct.pack("<q", 464)), ("position_ids", "INT64", (1, 1), struct.pack("<q", past)),
               ("mask", "INT64", (1, past + 1), struct.pack(f"<{past + 1}q", *[1] * (past + 1)))]
    tensors += [(f"past_{i}", "FP32", (1, 12, past, 64), bytes(12 * past * 64 * 4)) for i in range(24)]
    body = load.binary_body(tensors, ["linear"])
    servers = {batched: load.Server(arguments.program, models, SERVER, config={"defaults": {"batching": batched}}) for batched in (True, False)}
    try:
        for batched, server in servers.items():
            assert json.loads(server.get("/v2/models/gpt2/config"))["batched"] == batched
            ask(server, "gpt2", body, 16)  # plans of the sizes that come
        alone, loaded = {True: [], False: []}, {True: [], False: []}
        for _ in range(4 * arguments.rounds):  # in turns, so that both see the same machine
            for batched, server in servers.items():
                alone[batched].append(ask(server, "gpt2", body, 1, seconds=1)["p50_us"])
        for _ in range(arguments.rounds):
            for batched, server in servers.items():
                loaded[batched].append(ask(server, "gpt2", body, 16))
    finally:
        for server in servers.values():
            server.stop()
    together, one_by_one = (max(loaded[batched], key=lambda r: r["rate"]) for batched in (True, False))
    print(f"GPT-2's step, 16 clients: {together['rate']:.1f}/s of {together['rows_per_run']:.1f} rows a run; one by one {one_by_one['rate']:.1f}/s")
    say("GPT-2's step, 16 clients: times the throughput of one by one", together["rate"] / one_by_one["rate"], "times", 3, True)
    print("GPT-2's step, one client, p50 in us with and without batching:", [(round(a), round(b)) for a, b in zip(alone[True], alone[False])])
    say("GPT-2's step, one client: p50 with batching over without", (min(alone[True]) / min(alone[False]) - 1) * 100, "%", 3)


def metrics():
    """What a scraper costs that reads /metrics every second, fifteen times as often as Prometheus does: by the CPU time of reading, and
    by the CPU time of requests in short runs, in turns with and without it."""
    with load.Server(arguments.program, folder(double=load.TRIVIAL), SERVER, config={"look_microseconds": 0}) as server:
        def per_request(scraped):
            stop = threading.Event()

            def scrape():
                while scraped and not stop.wait(1):
                    server.get("/metrics")
            thread = threading.Thread(target=scrape)
            thread.start()
            begin, count = server.cpu_s(), ask(server, "double", SMALL, 32, seconds=2)["requests"]
            cost = (server.cpu_s() - begin) / count * 1e6
            stop.set()
            thread.join()
            return cost
        pairs = [(per_request(False), per_request(True)) for _ in range(4 * arguments.rounds)]
        begin, reads = server.cpu_s(), 500
        for _ in range(reads):
            server.get("/metrics")
        reading = (server.cpu_s() - begin) / reads
    say("CPU time of a request", statistics.median(pair[0] for pair in pairs), "us")
    say("metrics read every second: CPU time of each second", reading * 1e6, "us", 10_000)  # 1 %
    changes = sorted((read / plain - 1) * 100 for plain, read in pairs)
    print(f"CPU time of a request while they are read: {statistics.median(changes):+.2f} % in the median of {len(changes)} pairs, {changes[0]:+.1f} to {changes[-1]:+.1f}")


ALL = {"latency": latency, "throughput": throughput, "peer": peer, "resnet50": resnet50, "batching": batching, "metrics": metrics}
try:
    for name in arguments.names or ALL:
        ALL[name]()
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
if missed:
    print("missed:", "; ".join(missed))
sys.exit(1 if missed else 0)
