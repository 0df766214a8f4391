"""Names that programs for onnxruntime import from its inner modules."""
