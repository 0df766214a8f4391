#!/usr/bin/python3
"""The simulation of capacity against what queueing theory knows, and against the tables of docs/scaling.md."""

import math
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import capacity  # noqa: E402


def erlang_c(servers, load):
    """The probability that an arrival waits, of M/M/c."""
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last)


class Serving(unittest.TestCase):
    def near(self, found, expected, tolerance):
        self.assertLess(abs(found / expected - 1), tolerance, f"{found}, expected {expected}")

    def test_one_worker_with_equal_runs_is_m_d_1(self):
        for busy in (0.5, 0.7):
            found = capacity.simulate_serving(0, 2, busy * 500, 1, 1, batch=1, requests=100_000)
            self.near(found["mean_ms"], 2 + busy * 2 / (2 * (1 - busy)), 0.03)
            self.near(found["utilisation"], busy, 0.02)

    def test_many_workers_with_exponential_runs_are_m_m_c(self):
        found = capacity.simulate_serving(0, 2, 0.8 * 8 * 500, 1, 8, batch=1, requests=150_000, spread=1)
        self.near(found["mean_ms"], 2 + erlang_c(8, 6.4) * 2 / (8 - 6.4), 0.04)

    def test_batches_carry_what_single_runs_cannot(self):
        # Twice what runs of one row could: about as many rows go together as keep up.
        found = capacity.simulate_serving(4, 1, 400, 1, 1, batch=64, requests=100_000)
        self.assertGreater(found["rows_per_run"], 2)
        self.near(found["utilisation"], 400 / found["rows_per_run"] * (4 + found["rows_per_run"]) / 1000, 0.02)
        self.assertLess(found["p99_ms"], 40)

    def test_servers_that_fail_lose_no_request(self):
        found = capacity.simulate_serving(0, 5, 4 * 200 * 0.5, 4, 1, batch=1, requests=50_000, mtbf_s=20, restart_s=2)
        whole = capacity.simulate_serving(0, 5, 4 * 200 * 0.5, 4, 1, batch=1, requests=50_000)
        self.assertEqual(found["requests"], 50_000)
        self.assertGreater(found["retried"], 0)
        self.assertGreater(found["mean_ms"], whole["mean_ms"])

    def test_the_same_seed_gives_the_same_numbers(self):
        twice = [capacity.simulate_serving(1, 1, 900, 2, 1, requests=5_000, spread=0.5, mtbf_s=30) for _ in range(2)]
        self.assertEqual(*twice)


class Scoring(unittest.TestCase):
    def test_without_failures_a_job_takes_its_rows_and_its_parts(self):
        found = capacity.simulate_scoring(2, 64_000, 4, 2, part_rows=1000, overhead=10)
        self.assertAlmostEqual(found["hours"] * 3.6e6, 64 / 8 * (1000 * 2 + 10))
        self.assertEqual((found["parts"], found["parts_lost"]), (64, 0))

    def test_what_fails_is_scored_again_and_costs_time(self):
        for shards in (False, True):
            calm = capacity.simulate_scoring(5, 10_000_000, 20, 4, part_rows=10_000, shards=shards)
            found = capacity.simulate_scoring(5, 10_000_000, 20, 4, part_rows=10_000, mtbf_s=600, shards=shards)
            self.assertGreater(found["parts_lost"], 0)
            self.assertGreater(found["hours"], calm["hours"])

    def test_the_tables_of_the_documentation_are_what_the_commands_print(self):
        page = (ROOT / "docs/scaling.md").read_text()
        busy = re.search(r"\| 1 \| 2,880 \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", page)
        found = capacity.simulate_serving(1, 4, 2880, 1, 16, batch=1, requests=300_000, spread=0.3)
        self.assertEqual([round(found["utilisation"], 2), round(found["p50_ms"], 1), round(found["p99_ms"], 1)], list(map(float, busy.groups())))
        hours = re.search(r"\| 65,536 rows \| beforehand \(`--shard`\) \| ([\d.]+) \| ([\d.]+) \|", page)
        job = capacity.simulate_scoring(5, 10**10, 1000, 16, mtbf_s=864_000, speeds=0.05, shards=True)
        self.assertEqual([round(job["hours"], 2), round(job["efficiency"], 2)], list(map(float, hours.groups())))

    def test_words_that_make_no_sense_are_refused(self):
        for words in (["serve"], ["score", "--row", "x"], ["nothing"], ["serve", "--row", "1"]):
            self.assertEqual(subprocess.run([sys.executable, ROOT / "scripts/capacity.py", *words], capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
