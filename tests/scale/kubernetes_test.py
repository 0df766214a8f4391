#!/usr/bin/python3
"""The Kubernetes examples (serve/packaging/*.yaml) name what is there: each other's parts, the server's paths and metrics, and a
command line of `sardonyx score` that scores every row once.

SARDONYX names the program.
"""

import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import numpy as np
    import yaml
except ImportError as error:
    print(f"skipped: {error} (scripts/install_deps.sh scale)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGING = ROOT / "serve/packaging"
PROGRAM = os.environ.get("SARDONYX", str(ROOT / "build/sardonyx"))
CONTAINERFILE = (PACKAGING / "Containerfile").read_text()


def documents(name):
    return {document["kind"]: document for document in yaml.safe_load_all((PACKAGING / name).read_text())}


def pod(document):
    return document["spec"]["template"]["spec"]


class Kubernetes(unittest.TestCase):
    def mounts_are_volumes(self, spec):
        volumes = {volume["name"] for volume in spec["volumes"]}
        for container in spec["containers"]:
            for mount in container["volumeMounts"]:
                self.assertIn(mount["name"], volumes)

    def test_the_servers_documents_fit_together(self):
        all_ = documents("kubernetes.yaml")
        self.assertEqual({kind: document["apiVersion"] for kind, document in all_.items()},
                         {"Deployment": "apps/v1", "Service": "v1", "HorizontalPodAutoscaler": "autoscaling/v2"})
        deployment, service, scaler = all_.values()
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(deployment["spec"]["selector"]["matchLabels"], labels)
        self.assertEqual(service["spec"]["selector"], labels)
        self.assertEqual(scaler["spec"]["scaleTargetRef"],
                         {"apiVersion": deployment["apiVersion"], "kind": "Deployment", "name": deployment["metadata"]["name"]})
        self.assertNotIn("replicas", deployment["spec"], "their number is the autoscaler's")
        self.assertLess(scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"])
        self.assertEqual(deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"], 0)
        self.mounts_are_volumes(pod(deployment))
        server, = pod(deployment)["containers"]
        ports = {port["name"]: port["containerPort"] for port in server["ports"]}
        for probe in ("readinessProbe", "startupProbe", "livenessProbe"):
            self.assertIn(server[probe]["httpGet"]["port"], ports)
        self.assertIn(service["spec"]["ports"][0]["targetPort"], ports)
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        self.assertIn(int(annotations["prometheus.io/port"]), ports.values())
        self.assertTrue(any(metric["type"] == "Resource" for metric in scaler["spec"]["metrics"]))
        self.assertIn("cpu", server["resources"]["requests"], "a share of the processor is a share of what is asked for")

    def test_the_image_is_this_versions_and_the_containerfiles(self):
        server, = pod(documents("kubernetes.yaml")["Deployment"])["containers"]
        version = re.search(r"project\(Sardonyx VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        name = re.search(r"-t (\S+) ", CONTAINERFILE).group(1)
        self.assertEqual(server["image"], f"{name}:{version}")
        words = json.loads(re.search(r"^ENTRYPOINT (.*)$", CONTAINERFILE, flags=re.M).group(1))
        mounts = {mount["mountPath"]: mount.get("readOnly", False) for mount in server["volumeMounts"]}
        self.assertEqual(mounts, {words[words.index("--models") + 1]: True, words[words.index("--pack-cache") + 1]: False})
        self.assertIn(server["ports"][0]["containerPort"], map(int, re.findall(r"^EXPOSE (\d+)", CONTAINERFILE, flags=re.M)))
        self.assertTrue(server["securityContext"]["readOnlyRootFilesystem"])

    @unittest.skipIf(subprocess.run([PROGRAM, "serve", "-h"], capture_output=True).returncode != 0, "built without the server")
    def test_a_server_answers_the_probes_and_has_the_autoscalers_metrics(self):
        all_ = documents("kubernetes.yaml")
        server, = pod(all_["Deployment"])["containers"]
        annotations = all_["Deployment"]["spec"]["template"]["metadata"]["annotations"]
        with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
            models, cache = pathlib.Path(folder) / "models", pathlib.Path(folder) / "cache"
            models.mkdir()
            cache.mkdir(mode=0o700)
            (models / "digits.onnx").write_bytes((ROOT / "examples/digits/digits.onnx").read_bytes())
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            probe.close()
            words = json.loads(re.search(r"^ENTRYPOINT (.*)$", CONTAINERFILE, flags=re.M).group(1))[1:]
            words = [{"/models": str(models), "/cache": str(cache), "0.0.0.0": "127.0.0.1"}.get(word, word) for word in words]
            process = subprocess.Popen([PROGRAM, *words, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                def ask(path):
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                    try:
                        connection.request("GET", path)
                        answer = connection.getresponse()
                        return answer.status, answer.read().decode()
                    except OSError:
                        return 0, ""
                    finally:
                        connection.close()

                ready, end = server["readinessProbe"]["httpGet"]["path"], time.time() + 30
                while ask(ready)[0] != 200 and time.time() < end:
                    time.sleep(0.02)
                for probe in ("readinessProbe", "startupProbe", "livenessProbe"):
                    self.assertEqual(ask(server[probe]["httpGet"]["path"])[0], 200, probe)
                status, text = ask(annotations["prometheus.io/path"])
                self.assertEqual(status, 200)
                for metric in all_["HorizontalPodAutoscaler"]["spec"]["metrics"]:
                    if metric["type"] == "Pods":
                        self.assertRegex(text, rf"(?m)^{metric['pods']['metric']['name']}{{")
            finally:
                process.terminate()
                self.assertEqual(process.wait(30), 0)

    def test_the_pods_of_the_job_score_every_row_once(self):
        job = documents("score-job.yaml")["Job"]
        self.assertEqual((job["apiVersion"], job["spec"]["completionMode"]), ("batch/v1", "Indexed"))
        self.assertIn(pod(job)["restartPolicy"], ("OnFailure", "Never"))
        self.mounts_are_volumes(pod(job))
        container, = pod(job)["containers"]
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "data"
            (data / "rows").mkdir(parents=True)
            (data / "model.onnx").write_bytes((ROOT / "examples/digits/digits.onnx").read_bytes())
            x = np.random.default_rng(5).random((40, 1, 8, 8), dtype=np.float32)
            for i in range(20):
                np.save(data / f"rows/{i:02}.npy", x[2 * i:2 * i + 2])
            bin_ = pathlib.Path(folder) / "bin"
            bin_.mkdir()
            (bin_ / "sardonyx").symlink_to(os.path.abspath(PROGRAM))
            mount, = container["volumeMounts"]
            words = [word.replace(f"{mount['mountPath']}/", f"{data}/") for word in (*container["command"], *container["args"])]
            for index in range(job["spec"]["completions"]):
                subprocess.run(words, check=True, capture_output=True, timeout=60,
                               env={"PATH": f"{bin_}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": str(index)})
            merged = subprocess.run([PROGRAM, "score", "--merge", data / "job"], check=True, capture_output=True, text=True)
            self.assertIn("40 rows", merged.stderr)
            alone = subprocess.run([PROGRAM, "score", data / "model.onnx", "--input", data / "rows", "--out", data / "alone"],
                                   check=True, capture_output=True, text=True)
            self.assertEqual(merged.stdout, alone.stdout)


if __name__ == "__main__":
    unittest.main()
