"""Execution providers: there is one, and others are told apart from misspellings."""

import warnings

from ._errors import make

CPU = "CPUExecutionProvider"

# onnxruntime's. A program that asks for one of them runs on the CPU, as it would where that provider is not built in.
_KNOWN = {
    "ACLExecutionProvider", "ArmNNExecutionProvider", "AzureExecutionProvider", "CANNExecutionProvider",
    "CoreMLExecutionProvider", "CUDAExecutionProvider", "DmlExecutionProvider", "DnnlExecutionProvider", "JsExecutionProvider",
    "MIGraphXExecutionProvider", "NnapiExecutionProvider", "NvTensorRTRTXExecutionProvider", "OpenVINOExecutionProvider",
    "QNNExecutionProvider", "RknpuExecutionProvider", "ROCMExecutionProvider", "SNPEExecutionProvider",
    "TensorrtExecutionProvider", "TvmExecutionProvider", "VitisAIExecutionProvider", "VSINPUExecutionProvider",
    "WebGpuExecutionProvider", "WebNNExecutionProvider", "XnnpackExecutionProvider",
}


def check(providers, provider_options):
    """Raises for what is no provider at all; warns of those that are not here."""
    if providers is None:
        return
    if isinstance(providers, str) or not hasattr(providers, "__iter__"):
        raise make("SDX-P0020", f"providers is {providers!r}, not a list of names", [], f'providers=["{CPU}"]')
    providers = list(providers)
    if provider_options is not None and len(list(provider_options)) != len(providers):
        raise make("SDX-P0020", "providers and provider_options differ in length", [], "")
    for provider in providers:
        name = provider[0] if isinstance(provider, tuple) and len(provider) == 2 else provider
        if not isinstance(name, str):
            raise make("SDX-P0020", f"{provider!r} is no provider: a name, or a name and its options", [], "")
        if name == CPU:
            continue
        if name not in _KNOWN:
            raise make("SDX-P0020", f'there is no provider "{name}"', [], f'providers=["{CPU}"]')
        warnings.warn(f'the provider "{name}" is not here; the model runs on the CPU', UserWarning, stacklevel=3)
