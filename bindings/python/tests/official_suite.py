#!/usr/bin/python3
"""The runner of onnx.backend.test through sardonyx.backend: prints how many passed, failed and were skipped.

    official_suite.py LIST...     fails if another test fails than the LISTs name ("name reason"), or one of theirs passes
"""

import os
import sys
import unittest

import numpy as np

import sardonyx.backend

# The runner of onnx 1.12 still names what numpy 1.24 has dropped.
if "object" not in vars(np):
    np.object = object

import onnx.backend.test  # noqa: E402


def expected(paths):
    lines = [line for path in paths for line in open(path, encoding="utf-8")]
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def main():
    runner = onnx.backend.test.BackendTest(sardonyx.backend.SardonyxBackend, __name__)
    suite = unittest.TestSuite()
    downloads, other_devices = 0, 0
    models = os.path.join(os.path.expanduser(os.getenv("ONNX_HOME", "~/.onnx")), "models")
    models = os.getenv("ONNX_MODELS", models)
    for case in runner.test_cases.values():
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(case):
            name = test._testMethodName
            if name.endswith("_cuda"):
                other_devices += 1
            elif "Real" in case.__name__ and not os.path.isdir(os.path.join(models, name[5:-4])):
                downloads += 1  # its model is not part of onnx and would be fetched
            else:
                suite.addTest(test)
    result = unittest.TestResult()
    suite.run(result)
    failed = {test._testMethodName[: -len("_cpu")]: text for test, text in [*result.failures, *result.errors]}
    listed = expected(sys.argv[1:])
    passed = result.testsRun - len(failed) - len(result.skipped)
    for name in sorted(set(failed) - listed):
        print(f"FAIL {name}: {failed[name].strip().splitlines()[-1]}")
    fixed = sorted(name for name in listed if name not in failed)
    for name in fixed:
        print(f"PASS {name}: it is listed as failing")
    for test, reason in result.skipped:
        print(f"SKIP {test._testMethodName}: {reason}")
    print(f"{passed} passed, {len(failed)} failed, {len(result.skipped)} skipped; "
          f"not run: {other_devices} for another device, {downloads} whose model must be downloaded")
    return 1 if set(failed) - listed or fixed else 0


if __name__ == "__main__":
    sys.exit(main())
