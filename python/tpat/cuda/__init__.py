"""`tpat.cuda.pipeline`, where TVM's RFC 0103 has it."""
from ..migrate import pipeline

__all__ = ["pipeline"]
