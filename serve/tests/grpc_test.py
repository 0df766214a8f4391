#!/usr/bin/python3
"""The protocol over gRPC, call by call, with Debian's python3-grpcio and messages that protoc made."""
import importlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import grpc
from server import Server

generated = tempfile.mkdtemp()
subprocess.run(["protoc", f"-I{HERE}/..", f"--python_out={generated}", f"{HERE}/../inference.proto"], check=True)
sys.path.insert(0, generated)
pb = importlib.import_module("inference_pb2")


def call(channel, method, request, metadata=None, timeout=20):
    response = getattr(pb, method + "Response")
    stub = channel.unary_unary("/inference.GRPCInferenceService/" + method, request_serializer=type(request).SerializeToString,
                               response_deserializer=response.FromString)
    return stub(request, metadata=metadata, timeout=timeout)


def infer_request(values, model="double", raw=True, **more):
    request = pb.ModelInferRequest(model_name=model, **more)
    tensor = request.inputs.add(name="x", datatype="FP32", shape=[len(values) // 4, 4])
    if raw:
        request.raw_input_contents.append(struct.pack(f"<{len(values)}f", *values))
    else:
        tensor.contents.fp32_contents.extend(values)
    return request


class Grpc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--model-control")
        cls.channel = grpc.insecure_channel(f"127.0.0.1:{cls.server.port}", options=[("grpc.max_receive_message_length", -1)])

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        assert cls.server.stop() == 0

    def fails(self, code, method, request):
        with self.assertRaises(grpc.RpcError) as caught:
            call(self.channel, method, request)
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        return caught.exception.details()

    def test_server_live_and_ready(self):
        self.assertTrue(call(self.channel, "ServerLive", pb.ServerLiveRequest()).live)
        self.assertTrue(call(self.channel, "ServerReady", pb.ServerReadyRequest()).ready)

    def test_model_ready(self):
        self.assertTrue(call(self.channel, "ModelReady", pb.ModelReadyRequest(name="double")).ready)
        self.assertFalse(call(self.channel, "ModelReady", pb.ModelReadyRequest(name="none")).ready)

    def test_server_metadata(self):
        answer = call(self.channel, "ServerMetadata", pb.ServerMetadataRequest())
        self.assertEqual(answer.name, "sardonyx")
        self.assertIn("sequence", answer.extensions)

    def test_model_metadata(self):
        answer = call(self.channel, "ModelMetadata", pb.ModelMetadataRequest(name="double"))
        self.assertEqual((answer.name, list(answer.versions)), ("double", ["1"]))
        self.assertEqual((answer.inputs[0].name, answer.inputs[0].datatype, list(answer.inputs[0].shape)), ("x", "FP32", [-1, 4]))
        self.fails(grpc.StatusCode.NOT_FOUND, "ModelMetadata", pb.ModelMetadataRequest(name="none"))

    def test_model_config(self):
        answer = call(self.channel, "ModelConfig", pb.ModelConfigRequest(name="double"))
        self.assertEqual((answer.config.name, answer.config.input[0].data_type, list(answer.config.output[0].dims)), ("double", 11, [-1, 4]))

    def test_model_infer(self):
        for raw in (True, False):
            answer = call(self.channel, "ModelInfer", infer_request([1, 2, 3, 4], raw=raw, id="q"))
            self.assertEqual((answer.model_name, answer.model_version, answer.id), ("double", "1", "q"))
            self.assertEqual((answer.outputs[0].name, answer.outputs[0].datatype, list(answer.outputs[0].shape)), ("y", "FP32", [1, 4]))
            self.assertEqual(struct.unpack("<4f", answer.raw_output_contents[0]), (2, 4, 6, 8))

    def test_all_contents(self):
        request = pb.ModelInferRequest(model_name="types")
        for name, datatype, field, values in (("i", "INT64", "int64_contents", [-5]), ("s", "BYTES", "bytes_contents", [b"\xff"]),
                                              ("b", "BOOL", "bool_contents", [False]), ("d", "FP64", "fp64_contents", [0.1]),
                                              ("u", "UINT8", "uint_contents", [255])):
            tensor = request.inputs.add(name=name, datatype=datatype, shape=[1])
            getattr(tensor.contents, field).extend(values)
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "ModelInfer", request)  # FP16 is missing
        tensor = request.inputs.add(name="h", datatype="FP16", shape=[1])
        details = self.fails(grpc.StatusCode.INVALID_ARGUMENT, "ModelInfer", request)
        self.assertIn("raw_input_contents", details)

    def test_digest(self):
        request = infer_request([1, 2, 3, 4])
        request.parameters["digest"].bool_param = True
        answer = call(self.channel, "ModelInfer", request)
        self.assertEqual(len(answer.outputs[0].parameters["digest"].string_param), 64)

    def test_large_message(self):
        values = list(range(600000))
        answer = call(self.channel, "ModelInfer", infer_request(values))
        self.assertEqual(answer.raw_output_contents[0], struct.pack("<600000f", *(2 * v for v in values)))

    def test_compressed_message(self):
        channel = grpc.insecure_channel(f"127.0.0.1:{self.server.port}", compression=grpc.Compression.Gzip)
        answer = call(channel, "ModelInfer", infer_request([1, 2, 3, 4] * 1000))
        self.assertEqual(len(answer.raw_output_contents[0]), 16000)
        channel.close()

    def test_errors(self):
        self.fails(grpc.StatusCode.NOT_FOUND, "ModelInfer", infer_request([1, 2, 3, 4], model="none"))
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "ModelInfer", pb.ModelInferRequest(model_name="double"))
        request = infer_request([1, 2, 3, 4])
        request.raw_input_contents[0] = b"12"
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "ModelInfer", request)
        request = infer_request([1, 2, 3, 4])
        request.inputs[0].name = "ü"
        self.assertIn("ü", self.fails(grpc.StatusCode.INVALID_ARGUMENT, "ModelInfer", request))

    def test_malformed_protobuf(self):
        stub = self.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        for bytes_ in (b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x2a\x02\x0a\x09", os.urandom(64)):
            with self.assertRaises(grpc.RpcError) as caught:
                stub(bytes_, timeout=10)
            self.assertIn(caught.exception.code(), (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND))

    def test_unknown_call(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.channel.unary_unary("/inference.GRPCInferenceService/CudaSharedMemoryStatus")(b"", timeout=10)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        with self.assertRaises(grpc.RpcError) as caught:
            self.channel.unary_unary("/other.Service/Call")(b"", timeout=10)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_stream_infer(self):
        stub = self.channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer", request_serializer=pb.ModelInferRequest.SerializeToString,
                                          response_deserializer=pb.ModelStreamInferResponse.FromString)
        requests = [infer_request([i, 2, 3, 4], id=str(i)) for i in range(20)] + [infer_request([1, 2, 3, 4], model="none", id="bad")]
        answers = list(stub(iter(requests), timeout=20))
        self.assertEqual(len(answers), 21)
        good = {a.infer_response.id: struct.unpack("<4f", a.infer_response.raw_output_contents[0])[0] for a in answers if not a.error_message}
        self.assertEqual(good, {str(i): 2.0 * i for i in range(20)})
        self.assertEqual([a.infer_response.id for a in answers if a.error_message], ["bad"])

    def test_statistics_and_index(self):
        call(self.channel, "ModelInfer", infer_request([1, 2, 3, 4]))
        answer = call(self.channel, "ModelStatistics", pb.ModelStatisticsRequest(name="double"))
        self.assertGreaterEqual(answer.model_stats[0].inference_stats.success.count, 1)
        answer = call(self.channel, "RepositoryIndex", pb.RepositoryIndexRequest())
        self.assertEqual({m.name for m in answer.models}, {"double", "center", "types", "counter"})

    def test_load_and_unload(self):
        call(self.channel, "RepositoryModelUnload", pb.RepositoryModelUnloadRequest(model_name="center"))
        self.assertFalse(call(self.channel, "ModelReady", pb.ModelReadyRequest(name="center")).ready)
        call(self.channel, "RepositoryModelLoad", pb.RepositoryModelLoadRequest(model_name="center"))
        self.assertTrue(call(self.channel, "ModelReady", pb.ModelReadyRequest(name="center")).ready)

    def test_log_settings(self):
        request = pb.LogSettingsRequest()
        request.settings["log_verbose_level"].uint32_param = 1
        self.assertEqual(call(self.channel, "LogSettings", request).settings["level"].string_param, "debug")
        request = pb.LogSettingsRequest()
        request.settings["log_verbose_level"].uint32_param = 0
        answer = call(self.channel, "LogSettings", request).settings
        self.assertEqual((answer["level"].string_param, answer["log_info"].bool_param), ("info", True))
        request.settings["log_file"].string_param = "/tmp/log"
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "LogSettings", request)

    def test_trace_setting(self):
        self.assertEqual(list(call(self.channel, "TraceSetting", pb.TraceSettingRequest()).settings["trace_level"].value), ["OFF"])
        request = pb.TraceSettingRequest()
        request.settings["trace_rate"].value.append("1")
        self.fails(grpc.StatusCode.UNIMPLEMENTED, "TraceSetting", request)

    def test_shared_memory_is_off_unless_asked_for(self):
        self.fails(grpc.StatusCode.UNIMPLEMENTED, "SystemSharedMemoryStatus", pb.SystemSharedMemoryStatusRequest())
        self.fails(grpc.StatusCode.UNIMPLEMENTED, "SystemSharedMemoryRegister", pb.SystemSharedMemoryRegisterRequest(name="r", key="/k", byte_size=1))

    def test_health_service(self):
        answer = self.channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10)
        self.assertEqual(answer, b"\x08\x01")

    def test_many_calls_at_once(self):
        stub = self.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", request_serializer=pb.ModelInferRequest.SerializeToString,
                                        response_deserializer=pb.ModelInferResponse.FromString)
        futures = [stub.future(infer_request([i, 0, 0, 0]), timeout=30) for i in range(500)]
        self.assertEqual([struct.unpack("<4f", f.result().raw_output_contents[0])[0] for f in futures], [2.0 * i for i in range(500)])

    def test_quick_calls_that_are_read_together_share_a_run(self):
        """They are sent while the server is stopped; each gets the answer of a lone run."""
        models = tempfile.mkdtemp()
        steps = "\n".join(f"  t{i + 1} = MatMul ({f't{i}' if i else 'x'}, w)" for i in range(20))
        weights = ", ".join(str((i * 37 % 101 - 50) / 400) for i in range(4096))
        with open(os.path.join(models, "deep.onnxtxt"), "w") as file:
            file.write(f'<ir_version: 8, opset_import: ["" : 17]> deep (float[N, 64] x) => (float[N, 64] y) <float[64, 64] w = {{{weights}}}> {{\n{steps}\n'
                       '  y = Add (t20, x)\n}')

        def request(which):
            request = pb.ModelInferRequest(model_name="deep")
            request.inputs.add(name="x", datatype="FP32", shape=[1, 64])
            request.raw_input_contents.append(struct.pack("<64f", *((which + i * 7) % 13 - 6 for i in range(64))))
            return request
        server = Server("--workers", "1", "--reactors", "1", models=models)
        with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            stub = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", request_serializer=pb.ModelInferRequest.SerializeToString,
                                       response_deserializer=pb.ModelInferResponse.FromString)
            alone = [stub(request(which)).raw_output_contents[0] for which in range(13)]
            self.assertEqual(len(set(alone)), 13)
            before = call(channel, "ModelStatistics", pb.ModelStatisticsRequest(name="deep")).model_stats[0]
            for _ in range(5):
                server.process.send_signal(signal.SIGSTOP)
                futures = [stub.future(request(i % 13), timeout=30) for i in range(64)]
                time.sleep(0.1)
                futures.pop().cancel()
                server.process.send_signal(signal.SIGCONT)
                self.assertEqual([f.result().raw_output_contents[0] for f in futures], [alone[i % 13] for i in range(63)])
            after = call(channel, "ModelStatistics", pb.ModelStatisticsRequest(name="deep")).model_stats[0]
        inferences = after.inference_stats.success.count - before.inference_stats.success.count
        self.assertGreaterEqual(inferences, 5 * 63)
        self.assertLess(after.execution_count - before.execution_count, inferences / 1.5)
        self.assertEqual(server.stop(), 0)
        shutil.rmtree(models)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
