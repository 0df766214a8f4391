"""Names of onnxruntime that are not here, each with the reason. `sardonyx.NAME` raises it."""

_PROVIDERS = "there is one execution provider, the CPU's, and none can be added"
_ADAPTERS = "adapters (LoRA) are not read; merge them into the model's weights"
_COMPILED = "models are not compiled to files; SessionOptions.pack_cache keeps packed weights between loads"

REFUSED = {
    "AdapterFormat": _ADAPTERS,
    "LoraAdapter": _ADAPTERS,
    "ModelCompiler": _COMPILED,
    "OrtCompileApiFlags": _COMPILED,
    "OrtEpAssignedNode": _PROVIDERS,
    "OrtEpAssignedSubgraph": _PROVIDERS,
    "OrtEpDevice": _PROVIDERS,
    "OrtExecutionProviderDevicePolicy": _PROVIDERS,
    "OrtExternalInitializerInfo": _COMPILED,
    "OrtHardwareDevice": _PROVIDERS,
    "OrtHardwareDeviceType": _PROVIDERS,
    "OrtSyncStream": "runs on a CPU have no streams to wait for",
    "get_ep_devices": _PROVIDERS,
    "register_execution_provider_library": _PROVIDERS,
    "unregister_execution_provider_library": _PROVIDERS,
}
# Of classes that are here.
REFUSED_MEMBERS = {
    "InferenceSession.get_input_epdevices": _PROVIDERS,
    "InferenceSession.get_provider_graph_assignment_info": _PROVIDERS,
    "InferenceSession.get_tuning_results": "kernels are chosen by shape and instruction set, not by tuning",
    "InferenceSession.set_tuning_results": "kernels are chosen by shape and instruction set, not by tuning",
    "InferenceSession.set_ep_dynamic_options": _PROVIDERS,
    "OrtDevice.cann": "the CPU is the one device",
    "OrtDevice.cuda": "the CPU is the one device",
    "OrtDevice.dml": "the CPU is the one device",
    "OrtDevice.fpga": "the CPU is the one device",
    "OrtDevice.gpu": "the CPU is the one device",
    "OrtDevice.npu": "the CPU is the one device",
    "OrtDevice.webgpu": "the CPU is the one device",
    "RunOptions.add_active_adapter": _ADAPTERS,
    "SessionOptions.add_external_initializers_from_files_in_memory":
        "give the folder: add_session_config_entry(\"session.model_external_initializers_file_folder_path\", FOLDER)",
}


def refuse(module, name):
    """The AttributeError for a name that is not here, with the reason if there is one."""
    reason = REFUSED.get(name)
    text = f"module {module!r} has no attribute {name!r}"
    return AttributeError(f"{text}: {reason}" if reason else text)
